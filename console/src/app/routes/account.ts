import { createRoute, redirect } from '@tanstack/react-router'
import { search } from '../search.ts'
import { requireCanInvite } from '../session-gate.ts'
import { app } from './root.ts'
import { lazyPage } from '../missing-code.ts'
import { page } from '../page.ts'

// The spec does not define the home page.
const home = createRoute({
  getParentRoute: () => app,
  path: '/home',
  staticData: { title: 'Home' },
  ...page(() => import('../../pages/home/HomePage.tsx')),
})
const secrets = createRoute({
  getParentRoute: () => app,
  path: '/secrets',
  staticData: { title: 'Secrets' },
  validateSearch: search.secrets,
  ...page(() => import('../../pages/secrets/SecretsPage.tsx')),
})
const addSecret = createRoute({
  getParentRoute: () => app,
  path: '/secrets/add',
  staticData: { title: 'New secret' },
  ...page(() => import('../../pages/secrets/AddSecretPage.tsx')),
})
const editSecret = createRoute({
  getParentRoute: () => app,
  path: '/secrets/edit/$name',
  staticData: { title: 'Edit value' },
  ...page(() => import('../../pages/secrets/EditSecretPage.tsx')),
})
const oldSecrets = createRoute({
  getParentRoute: () => app,
  path: '/organizations/secretes',
  beforeLoad: () => {
    throw redirect({ to: '/secrets', replace: true })
  },
})

const rpc = createRoute({
  getParentRoute: () => app,
  path: '/rpc',
  staticData: { title: 'RPC endpoints' },
  validateSearch: search.rpc,
  ...page(() => import('../../pages/rpc/EndpointsPage.tsx')),
})
const rpcToken = createRoute({
  getParentRoute: () => app,
  path: '/rpc/token',
  staticData: { title: 'RPC endpoints' },
  ...page(() => import('../../pages/rpc/TokenPage.tsx')),
})
const rpcChain = createRoute({
  getParentRoute: () => app,
  path: '/rpc/chains/$id',
  staticData: { title: ({ id }) => id ?? '' },
  ...page(
    () => import('../../pages/rpc/ChainPage.tsx'),
    () => import('../../pages/rpc/RequestsChart.tsx'),
  ),
})

const portal = createRoute({
  getParentRoute: () => app,
  path: '/portal',
  beforeLoad: () => {
    throw redirect({ to: '/portal/chains', replace: true })
  },
})
const portalChains = createRoute({
  getParentRoute: () => app,
  path: '/portal/chains',
  staticData: { title: 'Portal' },
  validateSearch: search.portalChains,
  ...page(() => import('../../pages/portal/DatasetsPage.tsx')),
})
const portalChain = createRoute({
  getParentRoute: () => app,
  path: '/portal/chains/$id',
  staticData: { title: ({ id }) => id ?? '' },
  ...page(() => import('../../pages/portal/DatasetPage.tsx')),
})

const settings = createRoute({
  getParentRoute: () => app,
  path: '/settings',
  staticData: { title: 'Settings' },
  validateSearch: search.settings,
  ...page(
    () => import('../../pages/settings/SettingsPage.tsx'),
    () => import('../../pages/settings/Members.tsx'),
    () => import('../../pages/settings/DangerZone.tsx'),
  ),
})

const statusPage = createRoute({
  getParentRoute: () => app,
  path: '/settings/status-page',
  staticData: { title: 'Status page' },
  ...page(() => import('../../pages/settings/status-page/StatusPageSettingsPage.tsx')),
})

const domains = createRoute({
  getParentRoute: () => app,
  path: '/settings/domains',
  staticData: { title: 'Domains' },
  ...page(() => import('../../pages/settings/domains/DomainsPage.tsx')),
})

const billing = createRoute({
  getParentRoute: () => app,
  path: '/billing',
  staticData: { title: 'Billing' },
  ...page(
    () => import('../../pages/billing/BillingPage.tsx'),
    () => import('../../pages/billing/MonthCost.tsx'),
    () => import('../../pages/billing/Calculator.tsx'),
  ),
})
const billingUsage = createRoute({
  getParentRoute: () => app,
  path: '/billing/usage',
  staticData: { title: 'Usage' },
  validateSearch: search.billingUsage,
  ...page(() => import('../../pages/billing/UsagePage.tsx')),
})
const billingLimits = createRoute({
  getParentRoute: () => app,
  path: '/billing/limits',
  staticData: { title: 'Limits' },
  ...page(() => import('../../pages/billing/LimitsPage.tsx')),
})

const apiTokens = createRoute({
  getParentRoute: () => app,
  path: '/profile/api-tokens',
  staticData: { title: 'API tokens' },
  ...page(() => import('../../pages/profile/ApiTokensPage.tsx')),
})
const createApiToken = createRoute({
  getParentRoute: () => app,
  path: '/profile/api-tokens/create',
  staticData: { title: 'Create API token' },
  component: lazyPage(() => import('../../pages/profile/CreateApiTokenPage.tsx')),
})
const profile = createRoute({
  getParentRoute: () => app,
  path: '/profile/settings',
  staticData: { title: 'Account settings', isOpenToUnverified: true },
  ...page(
    () => import('../../pages/profile/AccountSettingsPage.tsx'),
    () => import('../../pages/profile/Sessions.tsx'),
  ),
})
const preview = createRoute({
  getParentRoute: () => app,
  path: '/preview',
  staticData: { title: 'Preview', isOpenToUnverified: true },
  component: lazyPage(() => import('../../pages/profile/PreviewPage.tsx')),
})
const createOrg = createRoute({
  getParentRoute: () => app,
  path: '/organizations/create/{-$code}',
  staticData: { title: ({ code }) => (code === undefined ? 'Set up your organization' : 'Invite users') },
  beforeLoad: async ({ context, params: { code } }) => {
    if (code !== undefined) await requireCanInvite(context.queryClient, code)
  },
  ...page(() => import('../../pages/orgs/CreateOrgPage.tsx')),
})

/** The routes of pages about the organizations and the account of the user: home, secrets, RPC, Portal, billing, settings and profile. */
export const accountRoutes = [
  home,
  secrets,
  addSecret,
  editSecret,
  oldSecrets,
  rpc,
  rpcToken,
  rpcChain,
  portal,
  portalChains,
  portalChain,
  settings,
  statusPage,
  domains,
  billing,
  billingUsage,
  billingLimits,
  apiTokens,
  createApiToken,
  profile,
  preview,
  createOrg,
] as const
