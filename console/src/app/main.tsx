import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { dropEarlyResponses } from '../api/early-responses.ts'
import { createQueryClient, untilFetched } from '../api/query-client.ts'
import { authOptionsQuery, seedSession, sessionQuery } from '../api/session.ts'
import { getSetting } from '../lib/local-settings.ts'
import { followTheme } from '../lib/theme.ts'
import '../ui/styles.css'
import { startErrorReporting } from './error-reporting.ts'
import { followSession } from './session-gate.ts'
import { makeRouter } from './router.tsx'
import { reportMissingCode } from './missing-code.ts'

const queryClient = createQueryClient()
const router = makeRouter(queryClient)
followTheme()
reportMissingCode()
seedSession(queryClient)
followSession(queryClient, router)

// Load the page's code and the session, or the sign-in options, in parallel.
if (getSetting('user_token') === null) void queryClient.prefetchQuery(authOptionsQuery)
else void queryClient.prefetchQuery(sessionQuery)
const [matched] = router.getMatchedRoutes(location.pathname)
for (const route of matched) void router.loadRouteChunk(route)

/** If the data arrives within this time, the first rendering shows it, instead of a skeleton that the data then replaces. */
const maxDataWaitMs = 100

/** Replaces the empty frame of index.html when the session and the code of the page are loaded. */
async function render(): Promise<void> {
  await router.load()
  dropEarlyResponses()
  await untilFetched(queryClient, maxDataWaitMs)
  const root = document.getElementById('root')
  if (!root) throw new Error('index.html has no #root')
  createRoot(root).render(
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  )
}

// This module must not await `render`: modules with the code of pages import this one, so neither would finish loading.
void render()

startErrorReporting()
