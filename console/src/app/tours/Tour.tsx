import { useNavigate, useRouterState } from '@tanstack/react-router'
import { useEffect, useEffectEvent } from 'react'
import { setSetting, useSetting } from '../../lib/local-settings.ts'
import { showStep } from './popover.ts'
import { doneStep, firstTour, placeOf } from './steps.ts'

const goTo = (step: number) => setSetting('onboardingGuide', Math.min(Math.max(step, 0), doneStep))

/** Shows the step that the browser remembers, in its place. */
export default function Tour() {
  const step = useSetting('onboardingGuide')
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const navigate = useNavigate()
  const name = firstTour[step]
  const place = name && placeOf[name]
  const go = useEffectEvent((to: '/settings') => void navigate({ to }))

  useEffect(() => {
    if (place !== undefined && path !== place) go(place)
  }, [place, path])
  useEffect(
    () =>
      showStep(step, {
        onPrev: () => goTo(step - 1),
        onNext: () => goTo(step + 1),
        onSkip: () => goTo(doneStep),
      }),
    [step],
  )
  return null
}
