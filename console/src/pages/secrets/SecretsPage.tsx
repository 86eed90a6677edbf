import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useOrg } from '../../api/active-org.ts'
import { ListPage } from '../../components/data-table/ListPage.tsx'
import { useUrlSort } from '../../components/data-table/url-state.ts'
import { AddSecretLink } from './AddSecretLink.tsx'
import { OutdatedNotice } from './OutdatedNotice.tsx'
import { pollWhileOutdated, prefetchUses, usesQuery } from './queries.ts'
import { secretColumns } from './secret-columns.tsx'
import { useSecretActions } from './use-secret-actions.tsx'

const route = getRouteApi('/app/secrets')
export const prefetch = prefetchUses

/** The list of secrets and the versions that use them (spec 2.12, `/secrets`). */
export default function SecretsPage() {
  const { code } = useOrg()
  const secrets = useQuery({ ...usesQuery(code), refetchInterval: pollWhileOutdated })
  return (
    <ListPage
      title="Secrets"
      context="Environment variables for every squid of the organization. Their values are never shown again."
      create={<AddSecretLink />}
      query={secrets}
      columns={secretColumns}
      idOf={({ name }) => name}
      sort={useUrlSort(route, { column: 'name', order: 'asc' })}
      actions={useSecretActions()}
      loadingRows={3}
      empty={{
        title: 'No secrets yet',
        text: 'Keys and URLs that do not belong in an archive. Every squid gets them as environment variables; a manifest can also reference them as ${{ secrets.NAME }}.',
        command: `sqd secrets set NAME value -o ${code}`,
      }}
    >
      {secrets.data && <OutdatedNotice secrets={secrets.data} />}
    </ListPage>
  )
}
