import { createRoute, redirect } from '@tanstack/react-router'
import { accountRoutes } from './routes/account.ts'
import { guestRoutes, linkRoutes } from './routes/guest.ts'
import { operatorRoutes } from './routes/operator.ts'
import { app, root } from './routes/root.ts'
import { squidRoutes } from './routes/squids.ts'

const unknownPath = createRoute({
  getParentRoute: () => root,
  path: '$',
  beforeLoad: () => {
    throw redirect({ to: '/squids', search: (search: Record<string, unknown>) => search, replace: true })
  },
})

/** All routes of the console. routes.test.ts compares them with spec 2.1 and 2.2. */
export const routeTree = root.addChildren([
  guestRoutes,
  linkRoutes,
  app.addChildren([...squidRoutes, ...accountRoutes, ...operatorRoutes]),
  unknownPath,
])
