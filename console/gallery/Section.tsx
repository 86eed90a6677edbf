import type { ReactNode } from 'react'

/** A part of the gallery. The test takes a screenshot of each section and names it after the title. */
export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section
      data-section={title.toLowerCase().replaceAll(' ', '-')}
      className="grid gap-4 border-t border-line py-7 md:grid-cols-[160px_minmax(0,1fr)]"
    >
      <h2 className="text-md font-semibold">{title}</h2>
      <div className="flex min-w-0 flex-col gap-5">{children}</div>
    </section>
  )
}

/** Components side by side. */
export function Line({ children }: { children: ReactNode }) {
  return <div className="flex flex-wrap items-center gap-3">{children}</div>
}

/** Components in columns of equal width. */
export function Grid({ children }: { children: ReactNode }) {
  return <div className="grid items-start gap-5 xs:grid-cols-2 lg:grid-cols-3">{children}</div>
}
