import { useEffect, useRef, type ReactNode } from 'react'

type Props = {
  /** The title of the page in the browser tab and for screen readers. */
  title: string
  /** The text of the heading, if it differs from the title. */
  children?: ReactNode
}

/** The classes of the heading of a page, and of its placeholder while the code of the page loads. */
export const pageHeadingClass = 'text-xl font-semibold tracking-tight break-words outline-none'

/** True until the first page of a visit, which the browser announces, has been shown. */
let isFirstPage = true

/**
 * The main heading of every page. It sets the title of the browser tab: React's <title> would leave the tab without a title while the next
 * page loads. It also announces the opened page to screen readers, in the live region of index.html. If the element that had the focus no
 * longer exists, the heading gets the focus, so that keyboard navigation continues at the top of the page.
 */
export function PageHeading({ title, children = title }: Props) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Shoal`
    if (isFirstPage) {
      isFirstPage = false
      return
    }
    document.getElementById('page-announcement')?.replaceChildren(title)
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true })
  }, [title])
  return (
    <h1 ref={heading} tabIndex={-1} className={pageHeadingClass}>
      {children}
    </h1>
  )
}
