import { isUnpaid } from '@shoal/contract'
import { Suspense } from 'react'
import { useOrg } from '../../api/active-org.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { useDeniedReason } from '../../components/access.tsx'
import { Card } from '../../ui/Card.tsx'
import { SkeletonRows } from '../../ui/Skeleton.tsx'
import { BillingFrame } from './BillingFrame.tsx'
import { PaymentMethods } from './cards/PaymentMethods.tsx'
import { DetailsForm } from './DetailsForm.tsx'
import { PlanCard } from './PlanCard.tsx'
import { prefetchSettings, pricesQuery, summaryQuery } from './queries.ts'
import { lazyPart } from '../../lib/lazy.tsx'

const MonthCost = lazyPart(() => import('./MonthCost.tsx'))
const ExportCard = lazyPart(() => import('./ExportCard.tsx'))
const Calculator = lazyPart(() => import('./Calculator.tsx'))

export const prefetch: Prefetch = ({ client, org }) => {
  if (org.limits.playground) return
  void client.prefetchQuery(summaryQuery(org.code))
  void client.prefetchQuery(pricesQuery)
  prefetchSettings(client, org)
  void MonthCost.preload()
  void Calculator.preload()
}

/** The plan, payment methods, costs and cost calculator (spec 2.5, `/billing`). */
export default function BillingPage() {
  return (
    <BillingFrame title="Billing">
      <Sections />
    </BillingFrame>
  )
}

function Sections() {
  const org = useOrg()
  const deniedReason = useDeniedReason('billing.write')
  return (
    <div className="flex flex-col gap-5">
      <PlanCard org={org} />
      <Suspense fallback={<SkeletonRows count={6} />}>
        <MonthCost code={org.code} />
      </Suspense>
      {deniedReason === null ? (
        <>
          <div id="payment-methods" className="scroll-mt-20">
            <PaymentMethods code={org.code} />
          </div>
          <Card title="Billing details" isPadded>
            <DetailsForm org={org} />
          </Card>
        </>
      ) : (
        <Card title="Payment" isPadded>
          <p className="text-ink-2">{deniedReason}</p>
        </Card>
      )}
      {isUnpaid(org.status) && (
        <Suspense fallback={<SkeletonRows count={3} />}>
          <ExportCard code={org.code} />
        </Suspense>
      )}
      <Suspense fallback={<SkeletonRows count={6} />}>
        <div id="calculator" className="scroll-mt-20">
          <Calculator />
        </div>
      </Suspense>
    </div>
  )
}
