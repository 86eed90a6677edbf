import { createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { followTheme } from '../src/lib/theme.ts'
import './gallery.css'
import { Gallery } from './Gallery.tsx'

followTheme()
const router = createRouter({ routeTree: createRootRoute({ component: Gallery }) })
const root = document.getElementById('root')
if (!root) throw new Error('gallery.html has no #root')
// The app registers the type of its own router; the gallery has a minimal one, for parts that need a router.
createRoot(root).render(<RouterProvider router={router as never} />)
