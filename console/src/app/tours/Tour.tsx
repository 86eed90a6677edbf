import { useNavigate, useRouterState } from '@tanstack/react-router'
import { useEffect, useEffectEvent } from 'react'
import { setSetting, useSetting } from '../../lib/local-settings.ts'
import { doneStep, firstTour } from './first-tour.ts'
import { showStep } from './popover.ts'
import { requiredPaths } from './steps.ts'

const setStep = (step: number) => setSetting('onboardingGuide', Math.min(Math.max(step, 0), doneStep))

/** Shows the step stored in the local settings, on the page that it requires. */
export default function Tour() {
  const step = useSetting('onboardingGuide')
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const navigate = useNavigate()
  const name = firstTour[step]
  const requiredPath = name && requiredPaths[name]
  const navigateTo = useEffectEvent((to: '/settings') => void navigate({ to }))

  useEffect(() => {
    if (requiredPath !== undefined && path !== requiredPath) navigateTo(requiredPath)
  }, [requiredPath, path])
  useEffect(
    () =>
      showStep(step, {
        onPrev: () => setStep(step - 1),
        onNext: () => setStep(step + 1),
        onSkip: () => setStep(doneStep),
      }),
    [step],
  )
  return null
}
