import { ApiError, type LogEntry } from '@shoal/contract'
import type { CallArgument, Payload } from '../../../api/query.ts'
import { maxLines, openedAround, openedAtEnd, withLive, withNewer, withOlder, type LogWindow } from './log-window.ts'

export type HistoryQuery = NonNullable<CallArgument<'logs.history'>['query']>
export type FollowQuery = NonNullable<CallArgument<'logs.follow'>['query']>

/** The source of lines: the API, or a fake in tests. */
export type LogSource = {
  history: (query: HistoryQuery, signal: AbortSignal) => Promise<Payload<'logs.history'>>
  follow: (query: FollowQuery, signal: AbortSignal) => AsyncGenerator<LogEntry[]>
}

export type LogsQuery = {
  filter: Pick<FollowQuery, 'container' | 'level' | 'search'>
  from: string | undefined
  /** The end of the range: nothing is followed. */
  to: string | undefined
  /** Id of the line to start at; by default the end. */
  line: string | undefined
}

/** `cut`: paused while too many lines arrived; `off`: the newest lines are not loaded. */
export type LiveStatus = 'off' | 'connecting' | 'live' | 'reconnecting' | 'cut'

export type FeedState = {
  status: 'loading' | 'ready' | 'failed'
  error: unknown
  window: LogWindow
  live: LiveStatus
  loading: 'older' | 'newer' | null
  /** The error of the last page. */
  pageError: unknown
}

export type LogFeed = {
  open: () => void
  getState: () => FeedState
  subscribe: (listener: () => void) => () => void
  loadOlder: () => void
  loadNewer: () => void
  /** While the user reads above the end, no line is dropped. */
  hold: (isHeld: boolean) => void
  /** Clears the error of a page, so that it loads again. */
  retry: () => void
  /** Discards all lines and starts again at the end. */
  jumpToEnd: () => void
  close: () => void
}

/** Minimum interval between updates of the view. */
const drawIntervalMs = 100
const firstRetryMs = 500
const maxRetryMs = 15_000

const emptyWindow: LogWindow = { lines: [], first: 0, older: null, newer: null }

/** Loads pages at both ends of the window and follows its newer end, from `open` to `close`. */
export function createLogFeed(source: LogSource, { filter, from, to, line }: LogsQuery): LogFeed {
  let state: FeedState = {
    status: 'loading',
    error: null,
    window: emptyWindow,
    live: 'off',
    loading: null,
    pageError: null,
  }
  let stop = new AbortController()
  let isHeld = false
  let lastId = '0'
  const listeners = new Set<() => void>()

  const set = (changes: Partial<FeedState>) => {
    state = { ...state, ...changes }
    for (const listener of listeners) listener()
  }
  const fetchPage = (query: HistoryQuery, signal: AbortSignal) =>
    source.history({ ...filter, from, to, ...query }, signal)

  async function openWindow(at: string | undefined) {
    stop.abort()
    stop = new AbortController()
    const { signal } = stop
    isHeld = false
    set({ status: 'loading', error: null, loading: null, live: 'off', pageError: null })
    try {
      const newest = await fetchPage(at === undefined ? {} : { at, orderBy: 'asc' }, signal)
      const window = at === undefined ? openedAtEnd(newest) : openedAround(await fetchPage({ at }, signal), newest)
      if (signal.aborted) return
      lastId = newest.lastId
      set({ status: 'ready', window })
      if (window.newer === null) void followEnd(signal)
    } catch (error) {
      if (!signal.aborted) set({ status: 'failed', error })
    }
  }

  async function load(side: 'older' | 'newer') {
    const cursor = state.window[side]
    if (cursor === null || state.loading !== null || state.status !== 'ready') return
    const { signal } = stop
    set({ loading: side, pageError: null })
    try {
      const page = await fetchPage({ ...cursor, orderBy: side === 'older' ? 'desc' : 'asc' }, signal)
      if (signal.aborted) return
      if (side === 'newer') lastId = page.lastId
      const window = (side === 'older' ? withOlder : withNewer)(state.window, page)
      set({ loading: null, window })
      if (side === 'newer' && window.newer === null) void followEnd(signal)
    } catch (error) {
      if (!signal.aborted) set({ loading: null, pageError: error })
    }
  }

  async function followEnd(signal: AbortSignal) {
    if (to !== undefined) return
    const queueBatch = batchDraws(signal)
    set({ live: 'connecting' })
    for (let failures = 0; !signal.aborted && state.live !== 'cut'; failures++) {
      try {
        for await (const batch of source.follow({ ...filter, after: lastId }, signal)) {
          failures = 0
          lastId = batch.at(-1)?.id ?? lastId
          if (state.live !== 'live') set({ live: 'live' })
          if (batch.length > 0) queueBatch(batch)
          if (isHeld && state.window.lines.length > maxLines) return set({ live: 'cut' })
        }
      } catch (error) {
        if (!signal.aborted && error instanceof ApiError && error.status < 500)
          return set({ live: 'off', pageError: error })
      }
      if (signal.aborted) return
      set({ live: 'reconnecting' })
      await pause(Math.min(firstRetryMs * 2 ** failures, maxRetryMs), signal)
    }
  }

  /** Shows the first batch immediately and merges batches that follow closely. */
  function batchDraws(signal: AbortSignal) {
    let waiting: LogEntry[] = []
    let drawnAtMs = -drawIntervalMs
    const draw = () => {
      const entries = waiting
      waiting = []
      drawnAtMs = performance.now()
      if (!signal.aborted) set({ window: withLive(state.window, entries, isHeld) })
    }
    return (batch: LogEntry[]) => {
      const isFirst = waiting.length === 0
      waiting = waiting.concat(batch)
      if (!isFirst) return
      const leftMs = drawnAtMs + drawIntervalMs - performance.now()
      if (leftMs > 0) setTimeout(draw, leftMs)
      else draw()
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
    retry: () => set({ pageError: null }),
    hold: (held) => (isHeld = held),
    jumpToEnd: () => void openWindow(undefined),
    close: () => stop.abort(),
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), done()), { once: true })
  })
