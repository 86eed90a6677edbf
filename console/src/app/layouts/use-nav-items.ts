import { useOrg } from '../../api/active-org.ts'
import { useUser } from '../../api/session.ts'
import { usePreview } from '../../lib/preview-mode.ts'
import { navItems, type NavItem } from './nav.ts'

/** The navigation entries of the user in the active organization. */
export const useNavItems = (): NavItem[] => navItems(useOrg(), usePreview(), useUser().organizations.length > 1)
