import type { ReactNode } from 'react'
import { usePageTitle } from '../../components/use-page-title.ts'

/** The heading of a step, with its number. It also sets the title of the browser tab. */
export function StepHeading({ step, title, children }: { step: 1 | 2; title: string; children: ReactNode }) {
  usePageTitle(title)
  return (
    <header className="mb-6">
      <p className="text-sm text-ink-3">Step {step} of 2</p>
      <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
      <p className="mt-0.5 text-ink-2">{children}</p>
    </header>
  )
}
