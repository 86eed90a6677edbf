import type { Org } from '@shoal/contract'
import {
  Activity,
  CreditCard,
  Database,
  House,
  KeyRound,
  Layers,
  Settings,
  Waypoints,
  type LucideIcon,
} from 'lucide-react'
import type { LinkProps } from '@tanstack/react-router'
import { billingWarning, type BillingWarning } from '../../components/billing-warning.ts'

export type NavItem = {
  label: string
  to: NonNullable<LinkProps['to']>
  icon: LucideIcon
  isBeta?: boolean
  /** Warning icon on the right of the entry. */
  warning?: BillingWarning
  /** The key to press after `g` to open the page. */
  key: string
}

/**
 * Returns the navigation entries of spec 2.3 for this organization. `isPreview` is true if the beta flag of /preview is
 * set, and `hasHome` if the user has several organizations and thus a home page.
 */
export function navItems(org: Org, isPreview: boolean, hasHome = false): NavItem[] {
  const isTeam = !org.limits.playground
  const warning = billingWarning(org)
  const homeItem: NavItem = { label: 'Home', to: '/home', icon: House, key: 'h' }
  const portalItem: NavItem = { label: 'Portal', to: '/portal/chains', icon: Database, isBeta: true, key: 'p' }
  const teamItems: NavItem[] = [
    { label: 'RPC endpoints', to: '/rpc', icon: Waypoints, isBeta: true, key: 'r' },
    ...(isPreview ? [portalItem] : []),
    { label: 'Billing', to: '/billing', icon: CreditCard, key: 'b', ...(warning && { warning }) },
  ]
  return [
    ...(hasHome ? [homeItem] : []),
    { label: 'Squids', to: '/squids', icon: Layers, key: 's' },
    { label: 'Monitoring', to: '/monitoring', icon: Activity, isBeta: true, key: 'm' },
    { label: 'Secrets', to: '/secrets', icon: KeyRound, key: 'e' },
    ...(isTeam ? teamItems : []),
    { label: isTeam ? 'Organization settings' : 'Playground settings', to: '/settings', icon: Settings, key: 'o' },
  ]
}
