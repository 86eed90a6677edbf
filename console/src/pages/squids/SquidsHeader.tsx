import type { SquidSummary } from '@shoal/contract'
import type { UseQueryResult } from '@tanstack/react-query'
import { useOrg } from '../../api/active-org.ts'
import { useDeniedReason } from '../../components/access.tsx'
import { LinkButton } from '../../components/LinkButton.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { Alert } from '../../ui/Alert.tsx'
import { deployDisabledReason, remainingSquids, remainingWarning, summaryOf } from './squids-left.ts'

/** The header of the list: how many versions the organization has, and how many more it may deploy. */
export function SquidsHeader({ squids: { data: squids, error } }: { squids: UseQueryResult<SquidSummary[]> }) {
  const org = useOrg()
  const remaining = squids && remainingSquids(org, squids.length)
  const warning = remaining === undefined ? null : remainingWarning(org, remaining)
  return (
    <>
      <PageHeader
        title="Squids"
        context={squids && remaining !== undefined ? summaryOf(org, squids, remaining) : !error && 'Loading…'}
        actions={
          <LinkButton
            to="/squids/deploy"
            variant="primary"
            disabledReason={deployDisabledReason(org, remaining ?? 1, useDeniedReason('squids.write'))}
          >
            Deploy squid
          </LinkButton>
        }
      />
      {warning && (
        <Alert tone="warn" className="mb-4">
          {warning}
        </Alert>
      )}
    </>
  )
}
