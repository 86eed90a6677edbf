import type { Quota } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { q } from '../../api/query.ts'
import { QueryView } from '../../components/QueryView.tsx'
import { formatMillions, formatPercent } from '../../lib/format.ts'
import { Card } from '../../ui/Card.tsx'
import { ProgressBar } from '../../ui/ProgressBar.tsx'
import { Skeleton } from '../../ui/Skeleton.tsx'

/** The quotas of a playground, and how much of them is used this month. */
export const quotasQuery = (code: string) => q('orgs.getQuotas', { params: { code } })

/** Shows how much of the free quota of RPC requests is used this month (spec 2.11). */
export function RpcUsage({ code }: { code: string }) {
  const quotas = useQuery(quotasQuery(code))
  return (
    <Card title="RPC usage" isPadded>
      <QueryView
        query={quotas}
        what="The RPC usage"
        skeleton={
          <div role="status" aria-label="Loading">
            <Skeleton className="my-1 h-3 w-2/5" />
            <Skeleton className="mt-4 h-1 w-full" />
          </div>
        }
      >
        {(all) => all.filter(({ id }) => id === 'rpc').map((rpc) => <Usage key={rpc.id} quota={rpc} />)}
      </QueryView>
    </Card>
  )
}

function Usage({ quota }: { quota: Quota }) {
  const [usage, capacity] = [Number(quota.usage), Number(quota.capacity)]
  const ratio = capacity > 0 ? Math.min(1, usage / capacity) : 1
  return (
    <>
      <p className="flex flex-wrap justify-between gap-x-4">
        <span className="tabular">
          {formatMillions(usage)} of {formatMillions(capacity)} requests this month
        </span>
        <span className="tabular text-ink-3">{formatPercent(ratio)}</span>
      </p>
      <ProgressBar
        label="RPC requests used"
        ratio={ratio}
        tone={ratio >= 1 ? 'bad' : ratio >= 0.8 ? 'warn' : 'info'}
        className="mt-2 block w-full"
      />
    </>
  )
}
