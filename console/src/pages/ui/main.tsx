import { createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { followTheme } from '../../lib/theme.ts'
import '../../ui/styles.css'
import { UiPage } from './UiPage.tsx'

followTheme()
const router = createRouter({ routeTree: createRootRoute({ component: UiPage }) })
const root = document.getElementById('root')
if (!root) throw new Error('ui.html has no #root')
// The app registers its own router's type; this page has one of its own, for the parts that need any.
createRoot(root).render(<RouterProvider router={router as never} />)
