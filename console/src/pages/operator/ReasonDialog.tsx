import type { OperatorOrg, OperatorSquid } from '@shoal/contract'
import type { ReactNode } from 'react'
import { useApiMutation } from '../../api/mutation.ts'
import { seedOrg } from '../../api/seed-session.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { LazyDialog } from '../../components/LazyDialog.tsx'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/Button.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { seedRow } from './queries.ts'
import { referenceOf } from './reference-of.ts'

/** Lets the operator suspend an organization, with a reason. */
export function SuspendDialog({ org: { code }, onClose }: { org: OperatorOrg; onClose: () => void }) {
  const suspend = useApiMutation('operators.suspendOrg', {
    invalidates: ['operators.listOrgs', 'user.get'],
    seeds: (client, { code: suspendedCode }, { body: { reason } }) => {
      const suspension = { at: new Date().toISOString(), reason }
      seedRow<OperatorOrg>(client, 'operators.listOrgs', (org) => org.code === suspendedCode, { suspension })
      seedOrg(client, suspendedCode, { suspension })
    },
    errorDisplay: 'caller',
    onSuccess: () => {
      toast({ tone: 'good', title: `${code} is suspended` })
      onClose()
    },
  })
  return (
    <ReasonDialog
      title={`Suspend ${code}?`}
      submitLabel="Suspend"
      isDanger
      description="All members see it in their console, and administrators receive it by email."
      call={suspend}
      onSubmit={(reason) => suspend.mutate({ params: { code }, body: { reason } })}
      onClose={onClose}
    >
      Its squids are hibernated, and deployments and RPC requests are refused, until you end the suspension. All data is
      kept; members can still read it, export it and pay.
    </ReasonDialog>
  )
}

/** Lets the operator hibernate a version of any organization, with a reason. */
export function HibernateDialog({ squid, onClose }: { squid: OperatorSquid; onClose: () => void }) {
  const reference = referenceOf(squid)
  const hibernate = useApiMutation('operators.hibernateSquid', {
    invalidates: ['operators.listSquids'],
    errorDisplay: 'caller',
    onSuccess: () => {
      toast({ tone: 'good', title: `${reference} is being hibernated` })
      onClose()
    },
  })
  return (
    <ReasonDialog
      title={`Hibernate ${reference}?`}
      submitLabel="Hibernate"
      description="The log of the squid shows it."
      call={hibernate}
      onSubmit={(reason) =>
        hibernate.mutate({ params: { code: squid.organization.code, reference }, body: { reason } })
      }
      onClose={onClose}
    >
      It belongs to {squid.organization.name ?? squid.organization.code}. Its programs stop and its data is kept.
      Members may restart it; to prevent that, suspend the organization.
    </ReasonDialog>
  )
}

type Props = {
  title: string
  submitLabel: string
  isDanger?: boolean
  /** Who sees the reason. */
  description: string
  call: { isPending: boolean; error: unknown }
  onSubmit: (reason: string) => void
  onClose: () => void
  /** The consequences of the action. */
  children: ReactNode
}

/** Confirms an action of the operator that needs a reason. */
function ReasonDialog({ title, submitLabel, isDanger = false, description, call, onSubmit, onClose, children }: Props) {
  return (
    <LazyDialog title={title} isOpen onClose={onClose}>
      <FormShell
        schema={({ contract }) => contract.operators.suspendOrg.body}
        values={{ reason: '' }}
        onSubmit={({ reason }) => onSubmit(reason)}
        isPending={call.isPending}
        submitError={call.error}
        submitLabel={submitLabel}
        isDanger={isDanger}
        warnsAboutUnsavedChanges={false}
        secondary={<Button onClick={onClose}>Cancel</Button>}
      >
        {({ field }) => (
          <>
            <p>{children}</p>
            <TextField label="Reason" description={description} autoComplete="off" {...field('reason')} />
          </>
        )}
      </FormShell>
    </LazyDialog>
  )
}
