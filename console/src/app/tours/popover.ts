import { driver, type PopoverDOM } from 'driver.js'
import 'driver.js/dist/driver.css'
import './tour.css'
import { shownSteps } from './steps.ts'

type StepHandlers = { onPrev: () => void; onNext: () => void; onSkip: () => void }

/** Shows a popover next to the target of the step with this index. Returns a function that removes the popover. */
export function showStep(index: number, { onPrev, onNext, onSkip }: StepHandlers): () => void {
  const tour = driver({
    steps: shownSteps.map(({ target, title, text, side = 'bottom' as const, align = 'center' as const }) => ({
      element: target,
      popover: { title, description: text, side, align },
    })),
    popoverClass: 'tour',
    animate: false,
    showProgress: true,
    progressText: '{{current}} / {{total}}',
    prevBtnText: 'Prev',
    nextBtnText: 'Next',
    doneBtnText: 'Finish',
    stagePadding: 8,
    stageRadius: 6,
    overlayOpacity: 0,
    overlayClickBehavior: () => {},
    onPrevClick: onPrev,
    onNextClick: onNext,
    onDoneClick: onNext,
    onCloseClick: onSkip,
    onPopoverRender: adaptPopover,
  })
  tour.drive(index)
  return () => tour.destroy()
}

/** Moves the close button next to the other buttons and labels it. Removes the role of the title: its `header` element would be a second banner of the page. */
function adaptPopover({ title, closeButton, progress }: PopoverDOM): void {
  title.role = 'none'

  closeButton.textContent = 'Skip tour'
  closeButton.removeAttribute('aria-label')
  progress.after(closeButton)
}
