import type { ReactNode } from 'react'
import { PageHeading } from '../../components/PageHeading.tsx'

/** The heading of a step, with its number. */
export function StepHeading({ step, title, children }: { step: 1 | 2; title: string; children: ReactNode }) {
  return (
    <header className="mb-6">
      <p className="text-sm text-ink-3">Step {step} of 2</p>
      <PageHeading title={title} />
      <p className="mt-0.5 text-ink-2">{children}</p>
    </header>
  )
}
