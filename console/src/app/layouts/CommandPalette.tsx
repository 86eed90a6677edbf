import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { CommandList, type CommandGroup } from '../../ui/CommandList.tsx'
import { orgTitle, selectOrg, useOrg } from '../../api/active-org.ts'
import { endSession, useUser } from '../../api/session.ts'
import { squidsQuery } from '../../api/squids.ts'
import { useSquidActions } from '../../components/squid/use-squid-actions.tsx'
import { isPreviewOn } from '../../lib/preview-mode.ts'
import { toggleTheme } from '../../lib/theme.ts'
import { navItems } from './nav.ts'
import { openKeyboardHelp } from './overlays.ts'

/** Opens a squid, a page or an organization, or runs an action, such as those of the version whose page is open. */
export default function CommandPalette({ onClose }: { onClose: () => void }) {
  const user = useUser()
  const org = useOrg()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  // Fetched once when the cache is stale, and not polled: the palette is open only briefly.
  const squids = useQuery({ ...squidsQuery(org.code), refetchInterval: false }).data ?? []
  const { squidName, squidSlot } = useParams({ strict: false })
  const opened = squids.find(({ name, slot }) => name === squidName && slot === squidSlot)
  const { actionsOf, menuDisabledReason } = useSquidActions()
  const versionActions = opened && menuDisabledReason(opened) === null ? Object.values(actionsOf(opened)) : []

  const groups: CommandGroup[] = [
    {
      id: 'version',
      title: opened?.reference ?? '',
      commands: versionActions
        .filter(({ disabledReason }) => !disabledReason)
        .map(({ id, label, onAction }) => ({
          id: `version-${id}`,
          label: `${label} ${opened?.reference}`,
          run: onAction,
        })),
    },
    {
      id: 'squids',
      title: 'Squids',
      commands: squids.map(({ name, slot }) => ({
        id: `${name}@${slot}`,
        label: `${name}@${slot}`,
        isMono: true,
        run: () => void navigate({ to: '/squids/$squidName/$squidSlot', params: { squidName: name, squidSlot: slot } }),
      })),
    },
    {
      id: 'pages',
      title: 'Pages',
      commands: [
        ...navItems(org, isPreviewOn(), user.organizations.length > 1).map(({ label, to, key }) => ({
          id: label,
          label,
          keys: `g ${key}`,
          run: () => void navigate({ to }),
        })),
        { id: 'alerts', label: 'Alerts', run: () => void navigate({ to: '/monitoring/alerts' }) },
        { id: 'api-tokens', label: 'API tokens', run: () => void navigate({ to: '/profile/api-tokens' }) },
        { id: 'account', label: 'Account settings', run: () => void navigate({ to: '/profile/settings' }) },
      ],
    },
    {
      id: 'organizations',
      title: 'Organizations',
      commands: user.organizations
        .filter(({ id }) => id !== org.id)
        .map((other) => ({
          id: other.code,
          label: `Switch to ${orgTitle(other)}`,
          run: () => {
            selectOrg(user, other.code)
            void navigate({ to: '/squids' })
          },
        })),
    },
    {
      id: 'actions',
      title: 'Actions',
      commands: [
        { id: 'deploy', label: 'Deploy squid', run: () => void navigate({ to: '/squids/deploy' }) },
        {
          id: 'create-organization',
          label: 'Create new organization',
          run: () => void navigate({ to: '/organizations/create/{-$code}' }),
        },
        {
          id: 'create-token',
          label: 'Create API token',
          run: () => void navigate({ to: '/profile/api-tokens/create' }),
        },
        { id: 'theme', label: 'Switch theme', run: toggleTheme },
        { id: 'keyboard', label: 'Keyboard shortcuts', keys: '?', run: openKeyboardHelp },
        { id: 'logout', label: 'Logout', run: () => void endSession(queryClient) },
      ],
    },
  ]
  return <CommandList label="Jump to a squid, page or action" groups={groups} onClose={onClose} />
}
