import type { LogEntry } from '@shoal/contract'

/** Cursor of the page before or after the window; null if there are no more lines. `at`: the page begins with the line with this id. */
export type PageCursor = { nextPage: string } | { at: string } | null

/**
 * The loaded lines, oldest first. Each line keeps its number while the window moves; `first` is the number of the
 * first line and may be negative.
 */
export type LogWindow = { lines: readonly LogEntry[]; first: number; older: PageCursor; newer: PageCursor }

type Page = { logs: readonly LogEntry[]; nextPage: string | null }

/** Maximum number of lines while following. Older ones are removed, and can be loaded again. */
export const maxLines = 100_000
/** Lines are removed only when at least this many exceed the maximum, because each removal copies the whole window. */
const trimBatchLines = 5_000

const pageCursorOf = ({ nextPage }: Page): PageCursor => (nextPage === null ? null : { nextPage })

/** The window that contains the newest page. */
export const windowAtEnd = (page: Page): LogWindow => ({
  lines: page.logs.toReversed(),
  first: 0,
  older: pageCursorOf(page),
  newer: null,
})

/** The window around a line: `before` is newest first, and `after` oldest first. Both begin with that line if it matches the filter. */
export function windowAround(before: Page, after: Page): LogWindow {
  const older = before.logs.toReversed()
  const isDuplicate = older.length > 0 && older.at(-1)?.id === after.logs[0]?.id
  return {
    lines: older.concat(isDuplicate ? after.logs.slice(1) : after.logs),
    first: 0,
    older: pageCursorOf(before),
    newer: pageCursorOf(after),
  }
}

/** Prepends a page of older lines, which arrives newest first. */
export function withOlder(window: LogWindow, page: Page): LogWindow {
  const { older } = window
  // A page that was requested with `at` begins with that line, which is already loaded.
  const loadedId = older && 'at' in older ? older.at : null
  const olderLines = page.logs.filter(({ id }) => id !== loadedId).toReversed()
  return {
    ...window,
    lines: olderLines.concat(window.lines),
    first: window.first - olderLines.length,
    older: pageCursorOf(page),
  }
}

/** Appends a page of newer lines, which arrives oldest first. */
export const withNewer = (window: LogWindow, page: Page): LogWindow => ({
  ...window,
  lines: window.lines.concat(page.logs),
  newer: pageCursorOf(page),
})

/** Appends new lines from the stream. Removes the oldest ones when there are too many, unless trimming is paused. */
export function withLive(window: LogWindow, entries: readonly LogEntry[], isTrimmingPaused: boolean): LogWindow {
  const lines = window.lines.concat(entries)
  const excess = lines.length - maxLines
  if (isTrimmingPaused || excess < trimBatchLines) return { ...window, lines }
  const [oldest] = lines.slice(excess, excess + 1)
  const older: PageCursor = oldest ? { at: oldest.id } : window.older
  return { ...window, lines: lines.slice(excess), first: window.first + excess, older }
}
