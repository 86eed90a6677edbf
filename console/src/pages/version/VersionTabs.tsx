import { Link, useMatches, useRouterState } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { cx } from '../../ui/classes.ts'
import { tabClass, tabListClass } from '../../ui/control-classes.ts'
import type { VersionTab } from './tabs.ts'

/** The current tab; undefined on a page below a tab, such as the page of one deployment. */
export function useCurrentTab(tabs: readonly VersionTab[]): VersionTab | undefined {
  const path = useMatches({ select: (matches) => matches.at(-1)?.fullPath.replace(/\/$/, '') })
  return tabs.find(({ to }) => to === path)
}

/** The links of the tabs. A disabled tab remains visible and shows the reason. */
export function VersionTabs({ tabs }: { tabs: readonly VersionTab[] }) {
  const nav = useRef<HTMLElement>(null)
  const path = useRouterState({ select: ({ location }) => location.pathname })
  useEffect(() => {
    // On a phone the tabs are wider than the screen.
    nav.current?.querySelector('[aria-current=page]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [path])
  return (
    <nav ref={nav} aria-label="Version" className={cx(tabListClass, 'mb-4.5')}>
      {tabs.map(({ label, to, disabledReason, isHiddenWhenNarrow }) => {
        const className = cx(tabClass, isHiddenWhenNarrow && 'max-xxs:hidden')
        if (disabledReason !== null)
          return (
            <span key={label} role="link" tabIndex={0} aria-disabled data-tip={disabledReason} className={className}>
              {label}
            </span>
          )
        return (
          <Link
            key={label}
            from="/squids/$squidName/$squidSlot"
            to={to}
            activeOptions={{ exact: label === 'General', includeSearch: false }}
            className={className}
          >
            {label}
          </Link>
        )
      })}
    </nav>
  )
}
