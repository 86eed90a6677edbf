import { createRoute } from '@tanstack/react-router'
import type { RouteParams } from '../PendingPage.tsx'
import { search } from '../search.ts'
import { app } from './root.ts'
import { lazyPage } from '../missing-code.ts'
import { page } from '../page.ts'

const loadPlot = () => import('../../components/chart/Plot.tsx')

/** The title of the pages of a version. */
const referenceTitle = ({ squidName, squidSlot }: RouteParams) => `${squidName}@${squidSlot}`

const squids = createRoute({
  getParentRoute: () => app,
  path: '/squids',
  staticData: { title: 'Squids' },
  validateSearch: search.squids,
  // Waits for the module, which the layout loads anyway, but not for the responses.
  loader: async ({ context }) => (await import('../../api/squids.ts')).prefetchSquids(context.queryClient),
  shouldReload: ({ cause }) => cause !== 'stay',
  component: lazyPage(() => import('../../pages/squids/SquidsPage.tsx')),
})
const deployGuide = createRoute({
  getParentRoute: () => app,
  path: '/squids/deploy',
  staticData: { title: 'Deploy squid' },
  ...page(() => import('../../pages/squids/DeployPage.tsx')),
})
const version = createRoute({
  getParentRoute: () => app,
  path: '/squids/$squidName/$squidSlot',
  staticData: { title: referenceTitle },
  ...page(() => import('../../pages/version/VersionPage.tsx')),
})
const versionTabs = [
  createRoute({
    getParentRoute: () => version,
    path: '/',
    ...page(
      () => import('../../pages/version/general/GeneralTab.tsx'),
      () => import('../../pages/version/ProcessorsTable.tsx'),
    ),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/details',
    component: lazyPage(() => import('../../pages/version/general/DetailsTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/logs',
    validateSearch: search.logs,
    ...page(() => import('../../pages/logs/LogsTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/db',
    component: lazyPage(() => import('../../pages/version/database/DatabaseTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/metrics',
    validateSearch: search.metrics,
    ...page(() => import('../../pages/metrics/MetricsTab.tsx'), loadPlot),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/manifest',
    ...page(() => import('../../pages/version/files/ManifestTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/package',
    ...page(() => import('../../pages/version/files/PackageTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/processors',
    component: lazyPage(() => import('../../pages/version/ProcessorsTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/deployments',
    ...page(() => import('../../pages/version/deployments/DeploymentsTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/deployments/$deployId',
    ...page(() => import('../../pages/version/deployments/DeploymentTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => version,
    path: '/deployments/$deployId/changes',
    validateSearch: search.changes,
    ...page(() => import('../../pages/version/changes/ChangesTab.tsx')),
  }),
] as const
// A separate page rather than a tab, because the playground needs the full width. The spec does not define the path.
const playground = createRoute({
  getParentRoute: () => app,
  path: '/squids/$squidName/$squidSlot/playground',
  staticData: { title: referenceTitle },
  validateSearch: search.playground,
  ...page(() => import('../../pages/playground/PlaygroundPage.tsx')),
})

// The spec does not define the path.
const schema = createRoute({
  getParentRoute: () => app,
  path: '/squids/$squidName/$squidSlot/schema',
  staticData: { title: referenceTitle },
  validateSearch: search.schema,
  ...page(() => import('../../pages/playground/SchemaPage.tsx')),
})

const monitoring = createRoute({
  getParentRoute: () => app,
  path: '/monitoring',
  staticData: { title: 'Monitoring' },
  validateSearch: search.monitoring,
  ...page(() => import('../../pages/monitoring/MonitoringPage.tsx'), loadPlot),
})

// The spec does not define the alerts pages.
const alerts = createRoute({
  getParentRoute: () => app,
  path: '/monitoring/alerts',
  staticData: { title: 'Alerts' },
  ...page(() => import('../../pages/alerts/AlertsPage.tsx')),
})
const alertTabs = [
  createRoute({
    getParentRoute: () => alerts,
    path: '/',
    ...page(() => import('../../pages/alerts/OpenTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => alerts,
    path: '/history',
    ...page(() => import('../../pages/alerts/HistoryTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => alerts,
    path: '/rules',
    ...page(() => import('../../pages/alerts/rules/RulesTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => alerts,
    path: '/channels',
    ...page(() => import('../../pages/alerts/channels/ChannelsTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => alerts,
    path: '/deliveries',
    ...page(() => import('../../pages/alerts/DeliveriesTab.tsx')),
  }),
] as const

/** The routes of pages about squids: lists, versions, monitoring and alerts. */
export const squidRoutes = [
  squids,
  deployGuide,
  version.addChildren([...versionTabs]),
  playground,
  schema,
  monitoring,
  alerts.addChildren([...alertTabs]),
] as const
