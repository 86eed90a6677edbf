import { useSyncExternalStore } from 'react'
import { useUser } from '../../api/session.ts'
import { useSetting } from '../../lib/local-settings.ts'
import { doneStep } from './first-tour.ts'

/** The width from which the sidebar, which is a target of the tour, is visible (spec 2.3, md). */
const wideScreen = matchMedia('(min-width: 1000px)')

function onWidthChange(listener: () => void): () => void {
  wideScreen.addEventListener('change', listener)
  return () => wideScreen.removeEventListener('change', listener)
}

/**
 * Whether to show the first tour: only on wide screens, after the user has confirmed the email and accepted the terms, and only on
 * its own pages (spec 2.4).
 */
export function useShouldShowTour(path: string): boolean {
  const { emailVerified, policyAccepted } = useUser()
  const step = useSetting('onboardingGuide')
  const isWide = useSyncExternalStore(onWidthChange, () => wideScreen.matches)
  return isWide && emailVerified && policyAccepted && step < doneStep && (path === '/squids' || path === '/settings')
}
