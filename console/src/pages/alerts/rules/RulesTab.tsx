import { useQuery } from '@tanstack/react-query'
import { useOrg } from '../../../api/active-org.ts'
import type { Prefetch } from '../../../api/prefetch.ts'
import { q } from '../../../api/query.ts'
import { useDeniedReason } from '../../../components/access.tsx'
import { QueryView } from '../../../components/QueryView.tsx'
import { Card } from '../../../ui/Card.tsx'
import { SkeletonRows } from '../../../ui/Skeleton.tsx'
import { RuleRow } from './RuleRow.tsx'

const rulesQuery = (code: string) => q('alerts.listRules', { params: { code } })

export const prefetch: Prefetch = ({ client, org }) => void client.prefetchQuery(rulesQuery(org.code))

/** The list of alert rules and their thresholds. */
export default function RulesTab() {
  const { code } = useOrg()
  const deniedReason = useDeniedReason('alerts.write')
  const rules = useQuery(rulesQuery(code))
  return (
    <div>
      {deniedReason !== null && <p className="mb-3 text-ink-2">{deniedReason}</p>}
      <QueryView
        query={rules}
        what="The rules"
        skeleton={
          <Card>
            <SkeletonRows count={12} rowClass="h-18" />
          </Card>
        }
      >
        {(all) => (
          <Card>
            <ul aria-label="Rules" className="divide-y divide-line">
              {all.map((rule) => (
                <RuleRow key={rule.kind} rule={rule} isReadOnly={deniedReason !== null} />
              ))}
            </ul>
          </Card>
        )}
      </QueryView>
    </div>
  )
}
