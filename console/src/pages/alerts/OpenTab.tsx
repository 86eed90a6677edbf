import { useQuery } from '@tanstack/react-query'
import { useOrg } from '../../api/active-org.ts'
import { openAlertsQuery } from '../../api/alerts.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { QueryTable } from '../../components/data-table/QueryTable.tsx'
import { LinkButton } from '../../components/LinkButton.tsx'
import { openAlertColumns } from './alert-columns.tsx'
import { useAlertActions } from './use-alert-actions.tsx'

export const prefetch: Prefetch = ({ client, org }) => void client.prefetchQuery(openAlertsQuery(org.code))

const empty = {
  title: 'No open alerts',
  text: 'Shoal monitors your squids continuously. Crash loops, stalls, full databases and failed deployments appear here within a minute, and your channels are notified.',
  action: (
    <div className="flex flex-wrap justify-center gap-2">
      <LinkButton to="/monitoring/alerts/rules">See the rules</LinkButton>
      <LinkButton to="/monitoring/alerts/channels">Choose who is notified</LinkButton>
    </div>
  ),
}

/** The list of open alerts, the most severe first. */
export default function OpenTab() {
  return (
    <QueryTable
      label="Open alerts"
      what="The alerts"
      query={useQuery(openAlertsQuery(useOrg().code))}
      columns={openAlertColumns}
      idOf={({ id }) => String(id)}
      nameOf={({ label }) => label}
      actions={useAlertActions()}
      loadingRows={3}
      empty={empty}
    />
  )
}
