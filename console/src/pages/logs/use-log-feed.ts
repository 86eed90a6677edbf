import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { readLines } from '../../api/lines.ts'
import { callApi } from '../../api/query.ts'
import { askedOf, type LogsSearch } from './filters.ts'
import { createLogFeed, type FeedState, type LogFeed, type LogsAsked } from './log-feed.ts'

type Params = { code: string; reference: string }
type Held = { feed: LogFeed; state: FeedState; asked: LogsAsked; key: string }

/** The lines of one question, loaded and followed while the component is there. `key` names the question. */
export function useLogFeed(params: Params, question: LogsSearch): Held {
  const key = JSON.stringify({ params, question })
  const { feed, asked } = useMemo(() => feedOf(key), [key])
  useEffect(() => {
    feed.open()
    return feed.close
  }, [feed])
  const state = useSyncExternalStore(feed.subscribe, feed.getState)
  return { feed, state, asked, key }
}

function feedOf(key: string): { feed: LogFeed; asked: LogsAsked } {
  const { params, question } = JSON.parse(key) as { params: Params; question: LogsSearch }
  const asked = askedOf(question, Date.now())
  const feed = createLogFeed(
    {
      history: (query, signal) => callApi('logs.history', { params, query }, signal),
      follow: (query, signal) => readLines('logs.follow', { params, query }, signal),
    },
    asked,
  )
  return { feed, asked }
}
