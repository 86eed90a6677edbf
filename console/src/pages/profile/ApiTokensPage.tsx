import { useQuery } from '@tanstack/react-query'
import type { Prefetch } from '../../api/prefetch.ts'
import { ListPage } from '../../components/data-table/ListPage.tsx'
import { installCommand } from '../../components/deploy-guide/commands.ts'
import { LinkButton } from '../../components/LinkButton.tsx'
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
  command: installCommand,
}

/** The list of the user's API tokens (spec 2.12, `/profile/api-tokens`). */
export default function ApiTokensPage() {
  return (
    <ListPage
      title="API tokens"
      context="Keys for the command line and for programs. None has more rights than you."
      create={createLink}
      what="Your API tokens"
      query={useQuery(apiTokensQuery)}
      columns={apiTokenColumns}
      idOf={({ id }) => String(id)}
      nameOf={({ name }) => name}
      actions={useApiTokenActions()}
      loadingRows={2}
      empty={empty}
    />
  )
}
