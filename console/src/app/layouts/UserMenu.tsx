import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Gauge, Keyboard, KeyRound, LogOut, Moon, UserRound } from 'lucide-react'
import { endSession, useUser } from '../../api/session.ts'
import { useSetting } from '../../lib/local-settings.ts'
import { toggleTheme } from '../../lib/theme.ts'
import { Avatar } from '../../ui/Avatar.tsx'
import { Kbd } from '../../ui/Kbd.tsx'
import { MenuButton } from '../../components/MenuButton.tsx'
import { keyboardHelpAction } from './overlays.ts'

/** The menu with account settings, API tokens and logout (spec 2.3), the theme, the keyboard shortcuts and the operator's console. */
export function UserMenu() {
  const user = useUser()
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  const isDark = useSetting('theme') === 'dark'
  const hasSingleKeys = useSetting('singleKeys')
  const name = user.fullName || user.email || user.username
  const unverifiedReason = user.emailVerified ? null : 'Please, confirm your email.'

  const accountActions = [
    {
      label: 'Account settings',
      icon: UserRound,
      run: () => void navigate({ to: '/profile/settings' }),
    },
    {
      label: 'API tokens',
      icon: KeyRound,
      disabledReason: unverifiedReason,
      run: () => void navigate({ to: '/profile/api-tokens' }),
    },
    ...(user.isOperator
      ? [{ label: "Operator's console", icon: Gauge, run: () => void navigate({ to: '/admin' }) }]
      : []),
  ]
  const toolActions = [
    { label: isDark ? 'Light theme' : 'Dark theme', icon: Moon, run: toggleTheme },
    { ...keyboardHelpAction, icon: Keyboard, ...(hasSingleKeys && { hint: <Kbd keys="?" /> }) },
  ]
  const sessionActions = [{ label: 'Logout', icon: LogOut, run: () => void endSession(queryClient) }]

  return (
    <MenuButton
      label="Account"
      groups={[{ actions: accountActions }, { actions: toolActions }, { actions: sessionActions }]}
      header={
        <div className="mb-1 border-b border-line px-2 pt-1 pb-2">
          <p className="truncate font-medium">{name}</p>
          <p className="truncate text-xs text-ink-3">{user.email}</p>
        </div>
      }
      renderTrigger={(trigger) => (
        <button
          {...trigger}
          type="button"
          data-tour="account"
          className="flex items-center gap-2 rounded-full p-0.5 text-ink-2 hover:text-ink sm:pr-2"
        >
          <Avatar name={name} url={user.avatarUrl} />
          <span className="sr-only">Account of </span>
          <span className="max-w-48 truncate text-sm max-sm:sr-only">{name}</span>
        </button>
      )}
    />
  )
}
