import type { Org } from '@shoal/contract'
import { Navigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { isPreviewOn } from '../../lib/preview-mode.ts'

/** Whether the user sees the Portal: a playground has none, and it is hidden without the beta flag (spec 6). */
export const isPortalVisible = (org: Org): boolean => !org.limits.playground && isPreviewOn()

/** For pages of the Portal: redirects to the squids if the user does not see the Portal. */
export function PortalOnly({ children }: { children: ReactNode }) {
  return isPortalVisible(useOrg()) ? <>{children}</> : <Navigate to="/squids" replace />
}
