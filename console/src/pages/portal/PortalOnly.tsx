import { Navigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { TeamOnly } from '../../components/access.tsx'
import { isPreviewOn } from '../../lib/preview-mode.ts'

/** The Portal is hidden in playgrounds and without the beta flag (spec 6). */
export function PortalOnly({ children }: { children: ReactNode }) {
  return <TeamOnly>{isPreviewOn() ? children : <Navigate to="/squids" replace />}</TeamOnly>
}
