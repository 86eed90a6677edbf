import { useSyncExternalStore } from 'react'
import { useUser } from '../../api/session.ts'
import { useSetting } from '../../lib/local-settings.ts'
import { doneStep } from './steps.ts'

/** The minimum width at which the sidebar, which the tour points at, is visible (spec 2.3, md). */
const wide = matchMedia('(min-width: 1000px)')

function onWidthChange(listener: () => void): () => void {
  wide.addEventListener('change', listener)
  return () => wide.removeEventListener('change', listener)
}

/**
 * Whether to show the first tour: only on wide screens, after the user has confirmed the email and accepted the terms, and only on
 * its own pages (spec 2.4).
 */
export function useShouldShowTour(path: string): boolean {
  const { emailVerified, policyAccepted } = useUser()
  const step = useSetting('onboardingGuide')
  const isWide = useSyncExternalStore(onWidthChange, () => wide.matches)
  return isWide && emailVerified && policyAccepted && step < doneStep && (path === '/squids' || path === '/settings')
}
