import { isCardAdded, isUnpaid, planLabels, type Org } from '@shoal/contract'
import { useNavigate } from '@tanstack/react-router'
import { Check, ChevronsUpDown, CircleAlert, TriangleAlert } from 'lucide-react'
import { orgTitle, selectOrg, useOrg } from '../../api/active-org.ts'
import { useUser } from '../../api/session.ts'
import { Avatar } from '../../ui/Avatar.tsx'
import { MenuButton } from '../../components/MenuButton.tsx'

/** The playground has no plan; it is free. */
const planOf = (org: Org): string => (org.limits.playground ? 'Personal, free' : planLabels[org.status])

function PlanIcon({ org }: { org: Org }) {
  if (org.limits.playground || org.status === 'ACTIVE') return null
  if (isUnpaid(org.status)) return <CircleAlert size={14} aria-hidden className="shrink-0 text-bad" />
  const color = isCardAdded(org.status) ? 'shrink-0 text-warn' : 'shrink-0 text-ink-3'
  return <TriangleAlert size={14} aria-hidden className={color} />
}

/** The active organization and a menu to switch to another one (spec 2.3). */
export function OrgSwitcher() {
  const user = useUser()
  const active = useOrg()
  const navigate = useNavigate()

  const actions = user.organizations.map((org) => ({
    id: org.code,
    label: orgTitle(org),
    icon: <Avatar name={orgTitle(org)} kind="organization" size={24} />,
    hint: (
      <span className="flex items-center gap-2 text-xs text-ink-3">
        {planOf(org)}
        <PlanIcon org={org} />
        <Check size={14} aria-hidden className={org.id === active.id ? 'text-accent' : 'invisible'} />
      </span>
    ),
    run: () => {
      selectOrg(user, org.code)
      void navigate({ to: '/squids' })
    },
  }))

  return (
    <MenuButton
      label="Organizations"
      groups={[{ actions }]}
      placement="bottom start"
      renderTrigger={(trigger) => (
        <button
          {...trigger}
          type="button"
          data-tour="organization"
          disabled={!user.emailVerified}
          className="flex items-center gap-2.5 rounded-md border border-line bg-canvas px-2.5 py-1.75 text-left transition-colors not-disabled:hover:border-edge-strong disabled:opacity-50"
        >
          <Avatar name={orgTitle(active)} kind="organization" />
          <span className="sr-only">Organization</span>
          <span className="min-w-0 flex-1">
            <span className="block truncate font-medium">{orgTitle(active)}</span>
            <span className="flex items-center gap-1.5 text-xs text-ink-3">
              {planOf(active)}
              <PlanIcon org={active} />
            </span>
          </span>
          <ChevronsUpDown size={14} aria-hidden className="shrink-0 text-ink-3" />
        </button>
      )}
    />
  )
}
