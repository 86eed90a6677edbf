import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { disconnectedSinceMs, isUnreachable, onConnectionChange } from '../../../api/connection.ts'
import { readLines } from '../../../api/lines.ts'
import { callApi } from '../../../api/query.ts'
import { logsQueryOf, type LogsSearch } from '../filters.ts'
import { createLogFeed, type FeedState, type LogFeed, type LogsQuery } from './log-feed.ts'

type Params = { code: string; reference: string }
type LogFeedHandle = { feed: LogFeed; state: FeedState; logsQuery: LogsQuery; key: string }

/** Loads and follows the lines that match the filters while the component is mounted. The returned `key` identifies the version and the filters. */
export function useLogFeed(params: Params, filters: LogsSearch): LogFeedHandle {
  const key = JSON.stringify({ params, filters })
  const { feed, logsQuery } = useMemo(() => createFeed(key), [key])
  useEffect(() => {
    feed.open()
    const unsubscribe = onConnectionChange(() => {
      if (disconnectedSinceMs() === null) retryFeed(feed)
    })
    return () => {
      unsubscribe()
      feed.close()
    }
  }, [feed])
  const state = useSyncExternalStore(feed.subscribe, feed.getState)
  return { feed, state, logsQuery, key }
}

/** Repeats the request that failed because the server was unreachable, if there is one. */
function retryFeed(feed: LogFeed): void {
  const { status, error, pageError } = feed.getState()
  if (status === 'failed' && isUnreachable(error)) feed.open()
  else if (isUnreachable(pageError)) feed.retry()
}

function createFeed(key: string): { feed: LogFeed; logsQuery: LogsQuery } {
  const { params, filters } = JSON.parse(key) as { params: Params; filters: LogsSearch }
  const logsQuery = logsQueryOf(filters, Date.now())
  const feed = createLogFeed(
    {
      history: (query, signal) => callApi('logs.history', { params, query }, signal),
      follow: (query, signal) => readLines('logs.follow', { params, query }, signal),
    },
    logsQuery,
  )
  return { feed, logsQuery }
}
