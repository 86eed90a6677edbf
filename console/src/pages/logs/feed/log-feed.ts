import { ApiError, type LogEntry } from '@shoal/contract'
import type { CallArgument, Payload } from '../../../api/query.ts'
import { maxLines, windowAround, windowAtEnd, withLive, withNewer, withOlder, type LogWindow } from './log-window.ts'

export type HistoryQuery = NonNullable<CallArgument<'logs.history'>['query']>
export type FollowQuery = NonNullable<CallArgument<'logs.follow'>['query']>

/** The source of lines: the API, or a fake in tests. */
export type LogSource = {
  history: (query: HistoryQuery, signal: AbortSignal) => Promise<Payload<'logs.history'>>
  follow: (query: FollowQuery, signal: AbortSignal) => AsyncGenerator<LogEntry[]>
}

/** The lines that a feed reads. Undefined filters and times do not restrict the lines. */
export type LogsQuery = {
  filter: Pick<FollowQuery, 'container' | 'level' | 'search'>
  from: string | undefined
  /** The end of the range. A feed with an end does not follow new lines. */
  to: string | undefined
  /** Id of the line to start at; by default, the feed starts with the newest lines. */
  line: string | undefined
}

/** `off`: the feed does not follow new lines. `overflowed`: it stopped, since too many lines arrived while trimming was paused. */
export type LiveStatus = 'off' | 'connecting' | 'live' | 'reconnecting' | 'overflowed'

export type FeedState = {
  status: 'loading' | 'ready' | 'failed'
  error: unknown
  window: LogWindow
  live: LiveStatus
  loading: 'older' | 'newer' | null
  /** Why the last requested page could not be loaded; null if it was loaded. */
  pageError: unknown
}

export type LogFeed = {
  open: () => void
  getState: () => FeedState
  subscribe: (listener: () => void) => () => void
  loadOlder: () => void
  loadNewer: () => void
  /** Pauses the trimming of old lines, which the user may be reading. */
  pauseTrimming: (isPaused: boolean) => void
  /** Clears `pageError`, so that the view requests the page again. */
  retry: () => void
  /** Discards all lines and starts again at the end. */
  jumpToEnd: () => void
  close: () => void
}

/** Minimum interval between updates of the view. */
const updateIntervalMs = 100
/** Delay before the stream is opened again. It doubles with each failure in sequence, up to the maximum. */
const firstRetryMs = 500
const maxRetryMs = 15_000

const emptyWindow: LogWindow = { lines: [], first: 0, older: null, newer: null }

/** Creates a feed, which loads pages at both ends of the window and follows new lines, from `open` to `close`. */
export function createLogFeed(source: LogSource, { filter, from, to, line }: LogsQuery): LogFeed {
  let state: FeedState = {
    status: 'loading',
    error: null,
    window: emptyWindow,
    live: 'off',
    loading: null,
    pageError: null,
  }
  let controller = new AbortController()
  let isTrimmingPaused = false
  let lastId = '0'
  const listeners = new Set<() => void>()

  const update = (changes: Partial<FeedState>) => {
    state = { ...state, ...changes }
    for (const listener of listeners) listener()
  }
  const fetchPage = (query: HistoryQuery, signal: AbortSignal) =>
    source.history({ ...filter, from, to, ...query }, signal)

  async function openWindow(at: string | undefined) {
    controller.abort()
    controller = new AbortController()
    const { signal } = controller
    isTrimmingPaused = false
    update({ status: 'loading', error: null, loading: null, live: 'off', pageError: null })
    try {
      const newest = await fetchPage(at === undefined ? {} : { at, orderBy: 'asc' }, signal)
      const window = at === undefined ? windowAtEnd(newest) : windowAround(await fetchPage({ at }, signal), newest)
      if (signal.aborted) return
      lastId = newest.lastId
      update({ status: 'ready', window })
      if (window.newer === null) void followEnd(signal)
    } catch (error) {
      if (!signal.aborted) update({ status: 'failed', error })
    }
  }

  async function load(side: 'older' | 'newer') {
    const cursor = state.window[side]
    if (cursor === null || state.loading !== null || state.status !== 'ready') return
    const { signal } = controller
    update({ loading: side, pageError: null })
    try {
      const page = await fetchPage({ ...cursor, orderBy: side === 'older' ? 'desc' : 'asc' }, signal)
      if (signal.aborted) return
      if (side === 'newer') lastId = page.lastId
      const window = (side === 'older' ? withOlder : withNewer)(state.window, page)
      update({ loading: null, window })
      if (side === 'newer' && window.newer === null) void followEnd(signal)
    } catch (error) {
      if (!signal.aborted) update({ loading: null, pageError: error })
    }
  }

  async function followEnd(signal: AbortSignal) {
    if (to !== undefined) return
    const queueBatch = batchUpdates(signal)
    update({ live: 'connecting' })
    for (let failures = 0; !signal.aborted && state.live !== 'overflowed'; failures++) {
      try {
        for await (const batch of source.follow({ ...filter, after: lastId }, signal)) {
          failures = 0
          lastId = batch.at(-1)?.id ?? lastId
          if (state.live !== 'live') update({ live: 'live' })
          if (batch.length > 0) queueBatch(batch)
          if (isTrimmingPaused && state.window.lines.length > maxLines) return update({ live: 'overflowed' })
        }
      } catch (error) {
        if (!signal.aborted && error instanceof ApiError && error.status < 500)
          return update({ live: 'off', pageError: error })
      }
      if (signal.aborted) return
      update({ live: 'reconnecting' })
      await pause(Math.min(firstRetryMs * 2 ** failures, maxRetryMs), signal)
    }
  }

  /** Returns a function that shows a batch immediately, or, within the update interval, together with the batches that follow. */
  function batchUpdates(signal: AbortSignal) {
    let queued: LogEntry[] = []
    let flushedAtMs = -updateIntervalMs
    const flush = () => {
      const entries = queued
      queued = []
      flushedAtMs = performance.now()
      if (!signal.aborted) update({ window: withLive(state.window, entries, isTrimmingPaused) })
    }
    return (batch: LogEntry[]) => {
      const isFirst = queued.length === 0
      queued = queued.concat(batch)
      if (!isFirst) return
      const delayMs = flushedAtMs + updateIntervalMs - performance.now()
      if (delayMs > 0) setTimeout(flush, delayMs)
      else flush()
    }
  }

  return {
    open: () => void openWindow(line),
    getState: () => state,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    loadOlder: () => void load('older'),
    loadNewer: () => void load('newer'),
    retry: () => update({ pageError: null }),
    pauseTrimming: (isPaused) => (isTrimmingPaused = isPaused),
    jumpToEnd: () => void openWindow(undefined),
    close: () => controller.abort(),
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), done()), { once: true })
  })
