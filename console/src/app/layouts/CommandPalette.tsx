import type { SquidSummary } from '@shoal/contract'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { orgTitle, selectOrg, useOrg } from '../../api/active-org.ts'
import { endSession, useUser } from '../../api/session.ts'
import { squidsQuery } from '../../api/squids.ts'
import { useVersionActions } from '../../components/squid/use-version-actions.ts'
import type { Action } from '../../ui/action.ts'
import { toggleTheme } from '../../lib/theme.ts'
import { CommandList, type CommandGroup } from '../../ui/CommandList.tsx'
import { jumpAction, keyboardHelpAction } from './overlays.ts'
import { useNavActions } from './use-nav-items.ts'

/** The minimum length of a search that finds actions of versions other than the open one: shorter searches would match too many. */
const minSearchLength = 2
const maxFound = 30

/**
 * Opens a squid, a page or an organization, or runs an action. Actions of the open version are always listed; those of other versions
 * only while the user searches.
 */
export default function CommandPalette({ onClose }: { onClose: () => void }) {
  const org = useOrg()
  // Fetched once when the cache is stale, and not polled: the palette is open only briefly.
  const squids = useQuery({ ...squidsQuery(org.code), refetchInterval: false }).data ?? []
  const { squidName, squidSlot } = useParams({ strict: false })
  const openVersion = squids.find(({ name, slot }) => name === squidName && slot === squidSlot)
  const actionsOf = useNamedVersionActions()
  const fixedGroups = useFixedGroups(squids)

  const foundActions = (text: string): CommandGroup => {
    const searchedText = text.trim().toLowerCase()
    if (searchedText.length < minSearchLength) return { title: 'Actions on squids', actions: [] }
    const others = squids.filter((squid) => squid !== openVersion).flatMap(actionsOf)
    const matches = others.filter(({ label }) => label.toLowerCase().includes(searchedText))
    return { title: 'Actions on squids', actions: matches.slice(0, maxFound) }
  }
  const groupsFor = (text: string) => [
    { title: openVersion?.reference ?? '', actions: openVersion ? actionsOf(openVersion) : [] },
    ...fixedGroups,
    foundActions(text),
  ]
  return <CommandList label={jumpAction.label} groupsFor={groupsFor} onClose={onClose} />
}

/** The enabled actions of a version, with its name: `Restart erc20@v1`. */
function useNamedVersionActions() {
  const { actionsOf, menuDisabledReason } = useVersionActions()
  return (squid: SquidSummary): Action[] =>
    menuDisabledReason(squid) === null
      ? actionsOf(squid)
          .filter(({ disabledReason }) => !disabledReason)
          .map((action) => ({ ...action, label: `${action.label} ${squid.reference}` }))
      : []
}

function useFixedGroups(squids: readonly SquidSummary[]): CommandGroup[] {
  const user = useUser()
  const org = useOrg()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  return [
    {
      title: 'Squids',
      isMono: true,
      actions: squids.map(({ name, slot }) => ({
        label: `${name}@${slot}`,
        run: () => void navigate({ to: '/squids/$squidName/$squidSlot', params: { squidName: name, squidSlot: slot } }),
      })),
    },
    {
      title: 'Pages',
      actions: [
        ...useNavActions(),
        { label: 'Alerts', run: () => void navigate({ to: '/monitoring/alerts' }) },
        { label: 'API tokens', run: () => void navigate({ to: '/profile/api-tokens' }) },
        { label: 'Account settings', run: () => void navigate({ to: '/profile/settings' }) },
      ],
    },
    {
      title: 'Organizations',
      actions: user.organizations
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
      title: 'Actions',
      actions: [
        { label: 'Deploy squid', run: () => void navigate({ to: '/squids/deploy' }) },
        { label: 'Create new organization', run: () => void navigate({ to: '/organizations/create/{-$code}' }) },
        { label: 'Create API token', run: () => void navigate({ to: '/profile/api-tokens/create' }) },
        { label: 'Switch theme', run: toggleTheme },
        keyboardHelpAction,
        { label: 'Logout', run: () => void endSession(queryClient) },
      ],
    },
  ]
}
