import type { OperatorOrg } from '@shoal/contract'
import { useNavigate } from '@tanstack/react-router'
import { CirclePause, CirclePlay, Eye, SlidersHorizontal } from 'lucide-react'
import type { ReactNode } from 'react'
import { useApiMutation } from '../../api/mutation.ts'
import { actionsOn, useMembership, type ActionOn } from '../../components/actions.ts'
import { confirm } from '../../components/confirm.ts'
import { openDialog } from '../../components/open-dialog.ts'
import { toast } from '../../lib/toasts.ts'
import { LimitsDialog, SuspendDialog } from './dialogs.ts'
import { seedRow } from './queries.ts'
import { useWithRecentPassword } from './use-with-recent-password.tsx'

type OrgContext = {
  open: (dialog: (close: () => void) => ReactNode) => void
  confirmResume: (org: OperatorOrg) => void
  read: (org: OperatorOrg) => void
}

/** The operator's actions on an organization. Each first requires the password, unless the operator entered it recently. */
const orgActions = {
  read: {
    label: 'Read as support',
    icon: Eye,
    run: (org, { read }) => read(org),
  },
  suspend: {
    label: 'Suspend',
    icon: CirclePause,
    isDanger: true,
    appliesTo: ({ suspension }) => suspension === null,
    run: (org, { open }) => open((close) => <SuspendDialog org={org} onClose={close} />),
  },
  resume: {
    label: 'End suspension',
    icon: CirclePlay,
    appliesTo: ({ suspension }) => suspension !== null,
    run: (org, { confirmResume }) => confirmResume(org),
  },
  changeLimits: {
    label: 'Change limits',
    icon: SlidersHorizontal,
    run: (org, { open }) => open((close) => <LimitsDialog org={org} onClose={close} />),
  },
} satisfies Record<string, ActionOn<OperatorOrg, OrgContext>>

/** Returns a function that returns the actions on an organization. */
export function useOrgActions() {
  const withRecentPassword = useWithRecentPassword()
  const resume = useApiMutation('operators.resumeOrg', {
    invalidates: ['operators.listOrgs', 'user.get'],
    seeds: (client, { code }) =>
      seedRow<OperatorOrg>(client, 'operators.listOrgs', (org) => org.code === code, { suspension: null }),
    errorDisplay: 'caller',
    onSuccess: ({ code }) => toast({ tone: 'good', title: `The suspension of ${code} has ended` }),
  })
  const navigate = useNavigate()
  const read = useApiMutation('operators.openSupport', {
    invalidates: ['user.get'],
    onSuccess: ({ code }) => navigate({ to: '/squids', search: { organization: code } }),
  })
  const context = {
    read: ({ code }: OperatorOrg) => void withRecentPassword(() => read.mutate({ params: { code } })),
    membership: useMembership(),
    open: (dialog: (close: () => void) => ReactNode) => void withRecentPassword(() => openDialog(dialog)),
    confirmResume: ({ code }: OperatorOrg) =>
      void withRecentPassword(() =>
        confirm({
          title: `End the suspension of ${code}?`,
          body: 'The squids that it hibernated start again, and members may deploy.',
          confirmLabel: 'End suspension',
          action: () => resume.mutateAsync({ params: { code } }),
        }),
      ),
  }
  return (org: OperatorOrg) => actionsOn(orgActions, org, context)
}
