import type { ReactNode } from 'react'
import { Breadcrumbs } from '../ui/Breadcrumbs.tsx'
import { usePageTitle } from './use-page-title.ts'

type Props = {
  title: string
  /** Replaces the title in the heading, such as a name with slot and tags. */
  heading?: ReactNode
  /** One line below the title. */
  context?: ReactNode
  /** Breadcrumb links, outermost first. */
  crumbs?: ReactNode
  /** Buttons on the right; the main action last. */
  actions?: ReactNode
}

/** The header of every page of the app. Also sets the title of the browser tab. */
export function PageHeader({ title, heading, context, crumbs, actions }: Props) {
  usePageTitle(title)
  return (
    <header className="mb-4.5 flex flex-wrap items-start gap-x-4 gap-y-3">
      <div className="min-w-0 flex-1 basis-72">
        {crumbs && <Breadcrumbs>{crumbs}</Breadcrumbs>}
        <h1 className="text-xl font-semibold tracking-tight break-words">{heading ?? title}</h1>
        {context && <div className="mt-0.5 text-ink-2">{context}</div>}
      </div>
      {actions && <div className="flex flex-wrap gap-x-1 gap-y-2 xs:gap-x-2">{actions}</div>}
    </header>
  )
}
