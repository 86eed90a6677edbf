import { useNavigate } from '@tanstack/react-router'
import { useOrg } from '../../api/active-org.ts'
import { useUser } from '../../api/session.ts'
import { usePreview } from '../../lib/preview-mode.ts'
import type { Action } from '../../ui/action.ts'
import { navItems, type NavItem } from './nav.ts'

/** The navigation entries of the user in the active organization. */
export const useNavItems = (): NavItem[] => navItems(useOrg(), usePreview(), useUser().organizations.length > 1)

/** The same entries as actions, for the command palette and as shortcuts. */
export function useNavActions(): Action[] {
  const navigate = useNavigate()
  return useNavItems().map(({ key, label, to }) => ({ label, keys: `g ${key}`, run: () => void navigate({ to }) }))
}
