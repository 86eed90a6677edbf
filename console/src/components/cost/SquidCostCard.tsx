import type { Squid } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useOrg } from '../../api/active-org.ts'
import { onlyIf, q } from '../../api/query.ts'
import { formatCents, formatHourlyUsd } from '../../lib/format.ts'
import { Card, KeyValue } from '../../ui/Card.tsx'
import { QueryView } from '../QueryView.tsx'

/** The cost of a version, refetched every minute and each time it is shown, because it depends on the version's status. */
export const squidCostQuery = (params: { code: string; reference: string }) =>
  q('billing.getSquidCost', { params }, { refetchInterval: 60_000, refetchOnMount: 'always' })

/**
 * The cost of a version this month and its forecast. Hidden in a playground, which is free. Pass a `key` that changes with the version's
 * status: the card requests the cost when it is mounted, so it then shows the new cost without waiting for the next refetch.
 */
export function SquidCostCard({ squid: { reference, organization } }: { squid: Squid }) {
  const isFree = useOrg().limits.playground
  const cost = useQuery(onlyIf(!isFree, squidCostQuery({ code: organization.code, reference })))
  if (isFree) return null
  const usage = (
    <Link to="/billing/usage" search={{ bySquid: 'true' }} className="text-accent hover:underline">
      Usage
    </Link>
  )
  return (
    <Card title="Cost this month" aside={usage}>
      <QueryView query={cost} what="The cost">
        {({ soFarUsd, forecastUsd, perHourUsd }) => (
          <>
            <KeyValue
              isNarrow
              rows={[
                { label: 'So far', value: formatCents(soFarUsd) },
                { label: 'Forecast for the month', value: formatCents(forecastUsd) },
                { label: 'Per hour now', value: formatHourlyUsd(perHourUsd) },
              ]}
            />
            <p className="border-t border-line px-3.5 py-2 text-xs text-ink-3">After discounts, before tax.</p>
          </>
        )}
      </QueryView>
    </Card>
  )
}
