import { useEffect, useRef, type ReactNode, type RefObject } from 'react'
import { Breadcrumbs } from '../ui/Breadcrumbs.tsx'
import { usePageTitle } from './use-page-title.ts'

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

/** The header of every page of the app. It also sets the title of the browser tab, and announces the page to screen readers. */
export function PageHeader({ title, tab, heading, context, crumbs, actions }: Props) {
  const headingRef = useRef<HTMLHeadingElement>(null)
  const fullTitle = tab ? `${tab} · ${title}` : title
  usePageTitle(fullTitle)
  useAnnouncement(fullTitle, headingRef)
  return (
    <header className="mb-4.5 flex flex-wrap items-start gap-x-4 gap-y-3">
      <div className="min-w-0 flex-1 basis-72">
        {crumbs && <Breadcrumbs>{crumbs}</Breadcrumbs>}
        <h1 ref={headingRef} tabIndex={-1} className="text-xl font-semibold tracking-tight break-words outline-none">
          {heading ?? title}
        </h1>
        {context && <div className="mt-0.5 text-ink-2">{context}</div>}
      </div>
      {actions && <div className="flex flex-wrap gap-x-1 gap-y-2 xs:gap-x-2">{actions}</div>}
    </header>
  )
}

const announcementId = 'page-announcement'

/** The live region in which `PageHeader` announces pages. The layout renders it once, since it must exist before the announcement. */
export const PageAnnouncement = () => <p id={announcementId} role="status" className="sr-only" />

/** True until the first page of a visit, which the browser announces, has been shown. */
let isFirstPage = true

/**
 * Announces the opened page to screen readers. Moves the focus to its heading if the element that had the focus
 * no longer exists, so that keyboard navigation continues at the top of the page.
 */
function useAnnouncement(title: string, heading: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    if (isFirstPage) {
      isFirstPage = false
      return
    }
    document.getElementById(announcementId)?.replaceChildren(title)
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true })
  }, [title, heading])
}
