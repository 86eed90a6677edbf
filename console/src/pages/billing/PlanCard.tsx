import { isCardAdded, planLabels, type Org } from '@shoal/contract'
import { useDeniedReason } from '../../components/access.tsx'
import { LinkButton } from '../../components/LinkButton.tsx'
import { supportEmail } from '../../lib/installation.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { Card } from '../../ui/Card.tsx'

/** Shows the plan of the organization, or how to upgrade it. */
export function PlanCard({ org }: { org: Org }) {
  const deniedReason = useDeniedReason('billing.write')
  const isPro = isCardAdded(org.status)
  return (
    <Card isPadded>
      <div className="flex flex-wrap items-center gap-3">
        <div className="min-w-0 flex-1 basis-72">
          <h2 className="text-md font-semibold">{isPro ? 'Professional' : 'Upgrade to Pro'}</h2>
          <p className="mt-0.5 text-ink-2">
            {isPro
              ? 'Pay by the hour for what you run. 2M RPC requests per month are included.'
              : `${planLabels[org.status]}. Add a card to deploy squids; you pay by the hour for what you run.`}
          </p>
        </div>
        <a href="#calculator" className={buttonClass()}>
          Cost calculator
        </a>
        {supportEmail() && (
          <a href={`mailto:${supportEmail()}?subject=Demo`} className={buttonClass()}>
            Book a demo
          </a>
        )}
        {!isPro && (
          <LinkButton to="/billing" hash="payment-methods" variant="primary" disabledReason={deniedReason}>
            Upgrade
          </LinkButton>
        )}
      </div>
    </Card>
  )
}
