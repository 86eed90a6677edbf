import { useQuery } from '@tanstack/react-query'
import type { Prefetch } from '../../api/prefetch.ts'
import { QueryTable } from '../../components/data-table/QueryTable.tsx'
import { LinkButton } from '../../components/LinkButton.tsx'
import { installCommand } from '../../components/deploy-guide/commands.ts'
import { PageHeader } from '../../components/PageHeader.tsx'
import { apiTokenColumns } from './api-token-columns.tsx'
import { apiTokensQuery } from './api-tokens.ts'
import { useApiTokenActions } from './use-api-token-actions.ts'

export const prefetch: Prefetch = ({ client }) => void client.prefetchQuery(apiTokensQuery)

const createLink = (
  <LinkButton to="/profile/api-tokens/create" variant="primary">
    Create API token
  </LinkButton>
)
const empty = {
  title: 'No API tokens yet',
  text: 'Use one to deploy squids from the command line.',
  action: createLink,
  command: installCommand,
}

/** The list of the user's API tokens (spec 2.12, `/profile/api-tokens`). */
export default function ApiTokensPage() {
  const tokens = useQuery(apiTokensQuery)
  const context = 'Keys for the command line and for programs. None has more rights than you.'
  return (
    <>
      <PageHeader title="API tokens" context={context} actions={tokens.data?.length !== 0 && createLink} />
      <QueryTable
        label="API tokens"
        what="Your API tokens"
        query={tokens}
        columns={apiTokenColumns}
        idOf={({ id }) => String(id)}
        nameOf={({ name }) => name}
        actions={useApiTokenActions()}
        loadingRows={2}
        empty={empty}
      />
    </>
  )
}
