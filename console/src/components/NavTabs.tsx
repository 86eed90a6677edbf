import { Link, useMatches, useRouterState, type LinkProps } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { cx } from '../ui/classes.ts'
import { tabClass, tabListClass } from '../ui/control-classes.ts'

export type NavTab = LinkProps & {
  label: string
  /** Disables the tab, which then shows this reason. */
  disabledReason?: string | null
  /** Hides the tab on the narrowest phones. */
  isHiddenWhenNarrow?: boolean
}

/** Scrolls the list of tabs, but not the page, until the current tab is visible. */
function showCurrent(list: HTMLElement): void {
  const tab = list.querySelector('[aria-current=page]')?.getBoundingClientRect()
  const box = list.getBoundingClientRect()
  if (tab && tab.right > box.right) list.scrollLeft += tab.right - box.right
  if (tab && tab.left < box.left) list.scrollLeft -= box.left - tab.left
}

/** The tab whose page is open; undefined on a page below a tab, such as the page of one deployment. */
export function useCurrentTab<T extends Pick<NavTab, 'to'>>(tabs: readonly T[]): T | undefined {
  const path = useMatches({ select: (matches) => matches.at(-1)?.fullPath.replace(/\/$/, '') })
  return tabs.find(({ to }) => to === path)
}

/** Tabs that are links to pages. The first tab is current only on its own page; the others also on the pages below their pages. */
export function NavTabs({ label, tabs }: { label: string; tabs: readonly NavTab[] }) {
  const list = useRef<HTMLElement>(null)
  const path = useRouterState({ select: ({ location }) => location.pathname })
  useEffect(() => {
    const element = list.current
    if (!element) return undefined
    // On a phone the tabs may be wider than the screen. The observer calls its callback once when it starts.
    const observer = new ResizeObserver(() => showCurrent(element))
    observer.observe(element)
    return () => observer.disconnect()
  }, [path])
  return (
    <nav ref={list} aria-label={label} className={cx(tabListClass, 'mb-4.5')}>
      {tabs.map(({ label, disabledReason = null, isHiddenWhenNarrow = false, ...link }, index) => {
        const className = cx(tabClass, isHiddenWhenNarrow && 'max-xxs:hidden')
        return disabledReason === null ? (
          <Link
            key={label}
            {...link}
            activeOptions={{ exact: index === 0, includeSearch: false }}
            className={className}
          >
            {label}
          </Link>
        ) : (
          <span key={label} role="link" tabIndex={0} aria-disabled data-tip={disabledReason} className={className}>
            {label}
          </span>
        )
      })}
    </nav>
  )
}
