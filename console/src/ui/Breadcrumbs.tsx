import { Children, type ReactNode } from 'react'

/** The links to the parents of a page, outermost first. */
export function Breadcrumbs({ children }: { children: ReactNode }) {
  return (
    <nav aria-label="Breadcrumb" className="mb-0.5">
      <ol className="flex flex-wrap items-center gap-1.5 text-ink-2 [&_a]:text-accent [&_a]:hover:underline">
        {Children.toArray(children).map((crumb, index) => (
          <li key={index} className="flex items-center gap-1.5">
            {index > 0 && (
              <span aria-hidden className="text-ink-3">
                /
              </span>
            )}
            {crumb}
          </li>
        ))}
      </ol>
    </nav>
  )
}
