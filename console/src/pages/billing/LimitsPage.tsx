import type { BillingLimitsUsage } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useOrg } from '../../api/active-org.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { useDeniedReason } from '../../components/access.tsx'
import { QueryView } from '../../components/QueryView.tsx'
import { formatCents, formatDateTime, formatInteger, formatPercent } from '../../lib/format.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Card } from '../../ui/Card.tsx'
import { ProgressBar } from '../../ui/ProgressBar.tsx'
import { BillingFrame } from './BillingFrame.tsx'
import { LimitsForm } from './LimitsForm.tsx'
import { limitsQuery, summaryQuery } from './queries.ts'

export const prefetch: Prefetch = ({ client, org }) => {
  if (org.limits.playground) return
  void client.prefetchQuery(summaryQuery(org.code))
  void client.prefetchQuery(limitsQuery(org.code))
}

/** Monthly caps and the consequences of reaching them (`/billing/limits`). The spec does not define the content of this page. */
export default function LimitsPage() {
  return (
    <BillingFrame title="Limits">
      <Limits />
    </BillingFrame>
  )
}

function Limits() {
  const { code } = useOrg()
  const deniedReason = useDeniedReason('billing.write')
  const query = useQuery(limitsQuery(code))
  return (
    <QueryView query={query} what="The limits">
      {(limits) => (
        <div className="flex flex-col gap-5">
          <CapNotice limits={limits} />
          <Card title="This month">
            <div className="divide-y divide-line">
              <QuotaUsage
                label="Spending"
                used={Number(limits.spentUsd)}
                cap={limits.spendCapUsd === null ? null : Number(limits.spendCapUsd)}
                format={formatCents}
              />
              <QuotaUsage
                label="RPC requests"
                used={limits.rpcRequests}
                cap={limits.rpcRequestsCap}
                format={formatInteger}
              />
            </div>
          </Card>
          <Card title="Monthly caps" isPadded>
            {deniedReason === null ? (
              <LimitsForm code={code} limits={limits} />
            ) : (
              <p className="text-ink-2">{deniedReason}</p>
            )}
          </Card>
        </div>
      )}
    </QueryView>
  )
}

type QuotaUsageProps = { label: string; used: number; cap: number | null; format: (value: number) => string }

function QuotaUsage({ label, used, cap, format }: QuotaUsageProps) {
  const ratio = cap === null ? 0 : cap > 0 ? used / cap : 1
  return (
    <div className="px-3.5 py-3">
      <p className="flex flex-wrap justify-between gap-x-4">
        <span>{label}</span>
        <span className="tabular">
          {format(used)} {cap === null ? <span className="ml-2 text-ink-3">no cap</span> : `of ${format(cap)}`}
          {cap !== null && <span className="ml-3 text-ink-3">{formatPercent(ratio)}</span>}
        </span>
      </p>
      {cap !== null && (
        <ProgressBar
          label={`${label} used`}
          ratio={ratio}
          tone={ratio >= 1 ? 'bad' : ratio >= 0.75 ? 'warn' : 'info'}
          className="mt-2 block w-full"
        />
      )}
    </div>
  )
}

function CapNotice({ limits: { deploysStoppedUntil, hibernatedByCap } }: { limits: BillingLimitsUsage }) {
  if (deploysStoppedUntil === null && hibernatedByCap.length === 0) return null
  return (
    <Alert tone="warn" title="Spend cap reached">
      {deploysStoppedUntil && <p>New deploys are stopped until {formatDateTime(deploysStoppedUntil)}.</p>}
      {hibernatedByCap.length > 0 && (
        <p>Hibernated (data is kept): {hibernatedByCap.map(({ name }) => name).join(', ')}.</p>
      )}
    </Alert>
  )
}
