import { isUnpaid, type BillingSummary, type OrgStatus } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useOrg } from '../../api/active-org.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { seedOrg } from '../../api/seed-session.ts'
import { Can } from '../../components/access.tsx'
import { RelativeTime } from '../../components/RelativeTime.tsx'
import { formatCents } from '../../lib/format.ts'
import { toast, unexpectedErrorTitle } from '../../lib/toasts.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { summaryQuery } from './queries.ts'

/** Warns the members of an organization about unpaid bills with the texts of spec 8; renders nothing if there are none. */
export function AccountStatusBanner() {
  const { code, status } = useOrg()
  const { data } = useQuery(summaryQuery(code))
  const isOverdue = isUnpaid(status)
  if (!isOverdue && status !== 'PAYMENT_ISSUES') return null
  return (
    <Alert
      tone={isOverdue ? 'bad' : 'warn'}
      className="mb-5"
      action={
        <Can permission="billing.write">
          <PayButton code={code} />
        </Can>
      }
    >
      <p className="font-medium">
        {isOverdue
          ? 'Payment is overdue. Please update your card details.'
          : "Payment method couldn't be charged. Please update it."}
      </p>
      <p className="text-ink-2">{consequences[status]}</p>
      {data && <AmountDue summary={data} />}
    </Alert>
  )
}

const consequences: Record<OrgStatus, string | null> = {
  DRAFT: null,
  ACTIVE: null,
  PAYMENT_ISSUES: 'Your squids keep running.',
  IN_DEBT: 'Squids keep running, but you cannot deploy, and RPC endpoints are suspended.',
  TERMINATED: 'All squids are hibernated. Their data is kept, and they restart as soon as the payment arrives.',
}

function AmountDue({ summary: { unpaidUsd, nextRetryAt } }: { summary: BillingSummary }) {
  if (Number(unpaidUsd) === 0) return null
  return (
    <p className="text-ink-2">
      <span className="tabular">{formatCents(unpaidUsd)}</span> is due.
      {nextRetryAt && (
        <>
          {' '}
          The next attempt is <RelativeTime at={nextRetryAt} />.
        </>
      )}
    </p>
  )
}

function PayButton({ code }: { code: string }) {
  const pay = useApiMutation('billing.pay', {
    invalidates: ['user.get', 'billing.getSummary'],
    seeds: (client, { status }) => seedOrg(client, code, { status }),
    onSuccess: ({ error }) =>
      toast(
        error === null
          ? { tone: 'good', title: 'The payment went through' }
          : { tone: 'bad', title: unexpectedErrorTitle, message: error },
      ),
  })
  return (
    <Button size={28} isPending={pay.isPending} onClick={() => pay.mutate({ params: { code } })}>
      Pay now
    </Button>
  )
}
