import type { ReactNode } from 'react'
import { pageHeadingClass } from '../../components/PageHeading.tsx'
import { Logo } from '../../ui/Logo.tsx'
import { cx } from '../../ui/classes.ts'
import { Skeleton, SkeletonRows } from '../../ui/Skeleton.tsx'

type Props = { topBar?: ReactNode; sidebar?: ReactNode; children?: ReactNode }

/**
 * The layout of the app (spec 2.3): a top bar of 52 px, and a sidebar of 248 px, or 320 px from the breakpoint `xl` up.
 * Narrow screens hide the sidebar. The frame is rendered empty until the session is known, to avoid a layout shift.
 */
export function Frame({ topBar, sidebar, children }: Props) {
  return (
    <div className="grid min-h-dvh grid-cols-[minmax(0,1fr)] grid-rows-[52px_1fr] md:grid-cols-[248px_minmax(0,1fr)] xl:grid-cols-[320px_minmax(0,1fr)]">
      <a
        href="#main"
        className="sr-only z-50 rounded-md bg-canvas px-3 py-2 shadow-overlay focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to content
      </a>
      <header className="sticky top-0 z-20 col-span-full flex h-13 items-center gap-3 border-b border-line bg-canvas px-4">
        {topBar ?? (
          <span className="flex items-center gap-2 text-brand font-semibold">
            <Logo className="text-accent" />
            Shoal
          </span>
        )}
      </header>
      <aside className="sticky top-13 hidden h-[calc(100dvh-52px)] overflow-y-auto border-r border-line bg-subtle md:block">
        {sidebar}
      </aside>
      <main id="main" tabIndex={-1} className="min-w-0 p-4 outline-none sm:px-7 sm:py-6">
        {children ?? <PageSkeleton />}
      </main>
    </div>
  )
}

/** Placeholder for a page whose code is loading. `title`: its heading, if that is known. */
export function PageSkeleton({ title }: { title?: string }) {
  return (
    <>
      {title === undefined ? (
        <Skeleton className="mb-2 h-6 w-44" />
      ) : (
        <h1 className={cx(pageHeadingClass, 'mb-1')}>{title}</h1>
      )}
      <Skeleton className="mb-6 h-4 w-72" />
      <SkeletonRows count={8} />
    </>
  )
}
