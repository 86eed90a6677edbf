import { createRoute } from '@tanstack/react-router'
import { addEndpoints } from '../../api/client.ts'
import { lazyPage } from '../missing-code.ts'
import { page } from '../page.ts'
import { search } from '../search.ts'
import { requireOperator } from '../session-gate.ts'
import { app } from './root.ts'

const operator = createRoute({
  getParentRoute: () => app,
  path: '/admin',
  staticData: { title: "Operator's console" },
  beforeLoad: async ({ context }) => {
    await requireOperator(context.queryClient)
    // If this code cannot be loaded, the code of the page cannot be loaded either, and its component reports the error.
    await import('../../api/operator-endpoints.ts').then(({ endpoints }) => addEndpoints(endpoints)).catch(() => null)
  },
  component: lazyPage(() => import('../../pages/operator/OperatorPage.tsx')),
})
const operatorTabs = [
  createRoute({
    getParentRoute: () => operator,
    path: '/',
    ...page(() => import('../../pages/operator/OverviewTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/deployments',
    ...page(() => import('../../pages/operator/DeploymentsTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/organizations',
    validateSearch: search.operatorOrgs,
    ...page(() => import('../../pages/operator/OrgsTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/squids',
    validateSearch: search.operatorSquids,
    ...page(() => import('../../pages/operator/SquidsTab.tsx')),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/users',
    validateSearch: search.operatorUsers,
    ...page(() => import('../../pages/operator/UsersTab.tsx')),
  }),
] as const

/** The operator's console. */
export const operatorRoutes = [operator.addChildren([...operatorTabs])] as const
