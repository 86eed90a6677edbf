import { Navigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { TeamOnly } from '../../components/access.tsx'
import { isPreviewOn } from '../../lib/preview-mode.ts'

/** Redirects in playgrounds and without the beta flag, where the Portal is hidden (spec 6). */
export function PortalOnly({ children }: { children: ReactNode }) {
  return <TeamOnly>{isPreviewOn() ? children : <Navigate to="/squids" replace />}</TeamOnly>
}
