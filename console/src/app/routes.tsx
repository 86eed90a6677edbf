import type { QueryClient } from '@tanstack/react-query'
import { createRootRouteWithContext, createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { authOptionsQuery } from '../api/session.ts'
import { flag, list, oneOf, searchOf, text } from '../lib/search-params.ts'
import { Frame } from './layouts/Frame.tsx'
import { Root, RootError } from './Root.tsx'
import { requireSignedIn, requireSignedOut, requireCanInvite } from './session-gate.ts'

/** All routes of the console. routes.test.ts compares them with spec 2.1 and 2.2. */

/** The parameters that routes read from the query string. */
const search = {
  root: searchOf({ emailConfirmed: oneOf('true', 'false') }),
  signUp: searchOf({ email: text, turnstileInteractive: text }),
  oauth: searchOf({ code: text, state: text }),
  app: searchOf({ organization: text, acceptInviteId: text }),
  squids: searchOf({
    search: text,
    status: list,
    tag: list,
    sort: oneOf('name', 'deployedAt'),
    order: oneOf('asc', 'desc'),
  }),
  logs: searchOf({
    range: text,
    from: text,
    to: text,
    container: list,
    level: list,
    search: text,
    order: oneOf('asc', 'desc'),
    line: text,
  }),
  metrics: searchOf({ range: text, from: text, to: text }),
  playground: searchOf({ endpoint: text }),
  monitoring: searchOf({
    timeframe: oneOf('1h', '6h', '12h', '24h', '2d', '7d'),
    from: text,
    to: text,
    container_type: oneOf('all', 'db', 'api', 'processor'),
    tag: list,
    only: text,
  }),
  rpc: searchOf({ search: text, type: list, sortBy: oneOf('name', 'usage') }),
  portalChains: searchOf({ search: text, type: list }),
  settings: searchOf({ emailVerified: oneOf('true', 'false') }),
  billingUsage: searchOf({ month: text, bySquid: flag }),
}

// Awaited, so that the provider buttons do not shift the layout later. A failure does not block the page.
const authOptions = (queryClient: QueryClient) => queryClient.ensureQueryData(authOptionsQuery).catch(() => null)

const root = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Root,
  errorComponent: RootError,
  validateSearch: search.root,
})

// Spec 2.1: signed out.

const guest = createRoute({
  getParentRoute: () => root,
  id: 'guest',
  component: lazyRouteComponent(() => import('./layouts/GuestLayout.tsx')),
  errorComponent: RootError,
  beforeLoad: ({ context }) => requireSignedOut(context.queryClient),
})

const signIn = createRoute({
  getParentRoute: () => guest,
  path: '/',
  loader: ({ context }) => authOptions(context.queryClient),
  component: lazyRouteComponent(() => import('../pages/auth/SignInPage.tsx')),
})
const signUp = createRoute({
  getParentRoute: () => guest,
  path: '/signup',
  loader: ({ context }) => authOptions(context.queryClient),
  validateSearch: search.signUp,
  component: lazyRouteComponent(() => import('../pages/auth/SignUpPage.tsx')),
})
const restore = createRoute({
  getParentRoute: () => guest,
  path: '/restore',
  component: lazyRouteComponent(() => import('../pages/auth/RestorePage.tsx')),
})
const confirmRestore = createRoute({
  getParentRoute: () => guest,
  path: '/restore/confirm/$token',
  component: lazyRouteComponent(() => import('../pages/auth/ConfirmRestorePage.tsx')),
})
const oauth = createRoute({
  getParentRoute: () => guest,
  path: '/oauth/$provider',
  validateSearch: search.oauth,
  component: lazyRouteComponent(() => import('../pages/auth/OauthReturnPage.tsx')),
})

// Spec 2.2: signed in.

const app = createRoute({
  getParentRoute: () => root,
  id: 'app',
  validateSearch: search.app,
  component: lazyRouteComponent(() => import('./layouts/AppLayout.tsx')),
  errorComponent: RootError,
  pendingComponent: Frame,
  pendingMs: 0,
  beforeLoad: ({ context, search }) =>
    requireSignedIn(context.queryClient, search.acceptInviteId ? undefined : search.organization),
})

const squids = createRoute({
  getParentRoute: () => app,
  path: '/squids',
  validateSearch: search.squids,
  // The page waits for this module, which is part of the frame's chunk, but not for the responses.
  loader: async ({ context }) => (await import('../api/squids.ts')).prefetchSquids(context.queryClient),
  component: lazyRouteComponent(() => import('../pages/squids/SquidsPage.tsx')),
})
const deployGuide = createRoute({
  getParentRoute: () => app,
  path: '/squids/deploy',
  component: lazyRouteComponent(() => import('../pages/squids/DeployPage.tsx')),
})
const version = createRoute({
  getParentRoute: () => app,
  path: '/squids/$squidName/$squidSlot',
  component: lazyRouteComponent(() => import('../pages/version/VersionPage.tsx')),
})
const versionTabs = [
  createRoute({
    getParentRoute: () => version,
    path: '/',
    component: lazyRouteComponent(() => import('../pages/version/general/GeneralTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/details',
    component: lazyRouteComponent(() => import('../pages/version/general/DetailsTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/logs',
    validateSearch: search.logs,
    component: lazyRouteComponent(() => import('../pages/logs/LogsTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/db',
    component: lazyRouteComponent(() => import('../pages/version/database/DatabaseTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/metrics',
    validateSearch: search.metrics,
    component: lazyRouteComponent(() => import('../pages/metrics/MetricsTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/manifest',
    component: lazyRouteComponent(() => import('../pages/version/files/ManifestTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/package',
    component: lazyRouteComponent(() => import('../pages/version/files/PackageTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/processors',
    component: lazyRouteComponent(() => import('../pages/version/ProcessorsTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/deployments',
    component: lazyRouteComponent(() => import('../pages/version/deployments/DeploymentsTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/deployments/$deployId',
    component: lazyRouteComponent(() => import('../pages/version/deployments/DeploymentTab.tsx')),
  }),
] as const
// A page of its own rather than a tab, because the playground needs the full width. The path is ours.
const playground = createRoute({
  getParentRoute: () => app,
  path: '/squids/$squidName/$squidSlot/playground',
  validateSearch: search.playground,
  component: lazyRouteComponent(() => import('../pages/playground/PlaygroundPage.tsx')),
})

const monitoring = createRoute({
  getParentRoute: () => app,
  path: '/monitoring',
  validateSearch: search.monitoring,
  component: lazyRouteComponent(() => import('../pages/monitoring/MonitoringPage.tsx')),
})

// The alerts pages and their paths are ours.
const alerts = createRoute({
  getParentRoute: () => app,
  path: '/monitoring/alerts',
  component: lazyRouteComponent(() => import('../pages/alerts/AlertsPage.tsx')),
})
const alertTabs = [
  createRoute({
    getParentRoute: () => alerts,
    path: '/',
    component: lazyRouteComponent(() => import('../pages/alerts/OpenTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => alerts,
    path: '/history',
    component: lazyRouteComponent(() => import('../pages/alerts/HistoryTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => alerts,
    path: '/rules',
    component: lazyRouteComponent(() => import('../pages/alerts/rules/RulesTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => alerts,
    path: '/channels',
    component: lazyRouteComponent(() => import('../pages/alerts/channels/ChannelsTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => alerts,
    path: '/deliveries',
    component: lazyRouteComponent(() => import('../pages/alerts/DeliveriesTab.tsx')),
  }),
] as const

const secrets = createRoute({
  getParentRoute: () => app,
  path: '/secrets',
  component: lazyRouteComponent(() => import('../pages/secrets/SecretsPage.tsx')),
})
const addSecret = createRoute({
  getParentRoute: () => app,
  path: '/secrets/add',
  component: lazyRouteComponent(() => import('../pages/secrets/AddSecretPage.tsx')),
})
const editSecret = createRoute({
  getParentRoute: () => app,
  path: '/secrets/edit/$name',
  component: lazyRouteComponent(() => import('../pages/secrets/EditSecretPage.tsx')),
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
  validateSearch: search.rpc,
  component: lazyRouteComponent(() => import('../pages/rpc/EndpointsPage.tsx')),
})
const rpcToken = createRoute({
  getParentRoute: () => app,
  path: '/rpc/token',
  component: lazyRouteComponent(() => import('../pages/rpc/TokenPage.tsx')),
})
const rpcChain = createRoute({
  getParentRoute: () => app,
  path: '/rpc/chains/$id',
  component: lazyRouteComponent(() => import('../pages/rpc/ChainPage.tsx')),
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
  validateSearch: search.portalChains,
  component: lazyRouteComponent(() => import('../pages/portal/DatasetsPage.tsx')),
})
const portalChain = createRoute({
  getParentRoute: () => app,
  path: '/portal/chains/$id',
  component: lazyRouteComponent(() => import('../pages/portal/DatasetPage.tsx')),
})

const settings = createRoute({
  getParentRoute: () => app,
  path: '/settings',
  validateSearch: search.settings,
  component: lazyRouteComponent(() => import('../pages/settings/SettingsPage.tsx')),
})

const billing = createRoute({
  getParentRoute: () => app,
  path: '/billing',
  component: lazyRouteComponent(() => import('../pages/billing/BillingPage.tsx')),
})
const billingUsage = createRoute({
  getParentRoute: () => app,
  path: '/billing/usage',
  validateSearch: search.billingUsage,
  component: lazyRouteComponent(() => import('../pages/billing/UsagePage.tsx')),
})
const billingLimits = createRoute({
  getParentRoute: () => app,
  path: '/billing/limits',
  component: lazyRouteComponent(() => import('../pages/billing/LimitsPage.tsx')),
})

const apiTokens = createRoute({
  getParentRoute: () => app,
  path: '/profile/api-tokens',
  component: lazyRouteComponent(() => import('../pages/profile/ApiTokensPage.tsx')),
})
const createApiToken = createRoute({
  getParentRoute: () => app,
  path: '/profile/api-tokens/create',
  component: lazyRouteComponent(() => import('../pages/profile/CreateApiTokenPage.tsx')),
})
const profile = createRoute({
  getParentRoute: () => app,
  path: '/profile/settings',
  staticData: { isOpenToUnverified: true },
  component: lazyRouteComponent(() => import('../pages/profile/AccountSettingsPage.tsx')),
})
const preview = createRoute({
  getParentRoute: () => app,
  path: '/preview',
  staticData: { isOpenToUnverified: true },
  component: lazyRouteComponent(() => import('../pages/profile/PreviewPage.tsx')),
})
const createOrg = createRoute({
  getParentRoute: () => app,
  path: '/organizations/create/{-$code}',
  beforeLoad: async ({ context, params: { code } }) => {
    if (code !== undefined) await requireCanInvite(context.queryClient, code)
  },
  component: lazyRouteComponent(() => import('../pages/orgs/CreateOrgPage.tsx')),
})

const anythingElse = createRoute({
  getParentRoute: () => root,
  path: '$',
  beforeLoad: () => {
    throw redirect({ to: '/squids', search: (search: Record<string, unknown>) => search, replace: true })
  },
})

export const routeTree = root.addChildren([
  guest.addChildren([signIn, signUp, restore, confirmRestore, oauth]),
  app.addChildren([
    squids,
    deployGuide,
    version.addChildren([...versionTabs]),
    playground,
    monitoring,
    alerts.addChildren([...alertTabs]),
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
    billing,
    billingUsage,
    billingLimits,
    apiTokens,
    createApiToken,
    profile,
    preview,
    createOrg,
  ]),
  anythingElse,
])
