import type { ReactNode } from 'react'
import { Breadcrumbs } from '../ui/Breadcrumbs.tsx'
import { PageHeading } from './PageHeading.tsx'

type Props = {
  title: string
  /** The open tab of the page, or another part of it. This text precedes the title in the browser tab. */
  tab?: string | undefined
  /** Replaces the title in the heading, such as a name with slot and tags. */
  heading?: ReactNode
  /** One line below the title. */
  context?: ReactNode
  /** Breadcrumb links, outermost first. */
  crumbs?: ReactNode
  /** Buttons on the right; the main action last. */
  actions?: ReactNode
}

/** The header of every page of the app. */
export function PageHeader({ title, tab, heading, context, crumbs, actions }: Props) {
  return (
    <header className="mb-4.5 flex flex-wrap items-start gap-x-4 gap-y-3">
      <div className="min-w-0 flex-1 basis-72">
        {crumbs && <Breadcrumbs>{crumbs}</Breadcrumbs>}
        <PageHeading title={tab ? `${tab} · ${title}` : title}>{heading ?? title}</PageHeading>
        {context && <div className="mt-0.5 text-ink-2">{context}</div>}
      </div>
      {actions && <div className="flex flex-wrap gap-x-1 gap-y-2 xs:gap-x-2">{actions}</div>}
    </header>
  )
}
