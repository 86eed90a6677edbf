import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useOrg } from '../../api/active-org.ts'
import { useDeniedReason } from '../../components/access.tsx'
import { QueryTable } from '../../components/data-table/QueryTable.tsx'
import { useUrlSort } from '../../components/data-table/url-state.ts'
import { LinkButton } from '../../components/LinkButton.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { OutdatedNotice } from './OutdatedNotice.tsx'
import { pollWhileOutdated, prefetchUses, usesQuery } from './queries.ts'
import { secretColumns } from './secret-columns.tsx'
import { useSecretActions } from './use-secret-actions.tsx'

const route = getRouteApi('/app/secrets')
const initialSort = { column: 'name', order: 'asc' } as const

export const prefetch = prefetchUses

/** The list of secrets and the versions that use them (spec 2.12, `/secrets`). */
export default function SecretsPage() {
  const { code } = useOrg()
  const secrets = useQuery({ ...usesQuery(code), refetchInterval: pollWhileOutdated })
  const actions = useSecretActions()
  const addLink = (
    <LinkButton to="/secrets/add" variant="primary" disabledReason={useDeniedReason('secrets.write')}>
      Add secret
    </LinkButton>
  )
  const empty = {
    title: 'No secrets yet',
    text: 'Keys and URLs that do not belong in an archive. Every squid gets them as environment variables; a manifest can also reference them as ${{ secrets.NAME }}.',
    action: addLink,
    command: `sqd secrets set NAME value -o ${code}`,
  }
  return (
    <>
      <PageHeader
        title="Secrets"
        context="Environment variables for every squid of the organization. Their values are never shown again."
        actions={secrets.data?.length !== 0 && addLink}
      />
      {secrets.data && <OutdatedNotice secrets={secrets.data} />}
      <QueryTable
        label="Secrets"
        query={secrets}
        columns={secretColumns}
        idOf={({ name }) => name}
        sort={useUrlSort(route, initialSort)}
        actions={actions}
        loadingRows={3}
        empty={empty}
      />
    </>
  )
}
