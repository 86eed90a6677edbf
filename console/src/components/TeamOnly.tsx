import { Navigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useOrg } from '../api/active-org.ts'

/** What a playground does not have (spec 2.3, 6): there the address leads to the squids. */
export function TeamOnly({ children }: { children: ReactNode }) {
  return useOrg().limits.playground ? <Navigate to="/squids" replace /> : <>{children}</>
}
