import type { ReactNode } from 'react'

/** A narrow list of facts: name at the left, value at the right. */
export function Facts({ facts }: { facts: readonly [label: string, value: ReactNode][] }) {
  return (
    <dl className="px-3.5 py-2">
      {facts.map(([label, value]) => (
        <div key={label} className="flex min-h-7.5 items-center gap-3">
          <dt className="shrink-0 text-ink-2">{label}</dt>
          <dd className="min-w-0 flex-1 truncate text-right">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
