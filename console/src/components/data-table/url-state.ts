import { useNavigate, useSearch } from '@tanstack/react-router'
import { useDeferredValue, useEffect, useEffectEvent, useState } from 'react'
import type { Sort } from './columns.ts'

/** Default delay between the last key and the update of the URL. Leaving the field updates it immediately. */
const defaultDebounceMs = 250

type Changes = Record<string, string | string[] | undefined>

/** Changes some parameters of the query string and keeps the others. Only `push` adds a history entry. */
export function useSetSearch(): (changes: Changes, history?: 'replace' | 'push') => void {
  const navigate = useNavigate()
  return (changes, history = 'replace') =>
    void navigate({
      to: '.',
      search: ((current: Record<string, unknown>) => ({ ...current, ...changes })) as never,
      replace: history === 'replace',
      resetScroll: false,
    })
}

/** One parameter of the query string. Untyped, because the route is unknown here. */
const useParam = (key: string): unknown =>
  useSearch({ strict: false, select: (search) => (search as Record<string, unknown>)[key] })

/**
 * A search field whose text is in the URL. `text` is for the field, `deferred` for filtering, so that typing never
 * waits for a long table.
 */
export function useSearchText(
  key: string,
  debounceMs = defaultDebounceMs,
): { text: string; deferred: string; setText: (text: string) => void } {
  const stored = useParam(key)
  const urlText = typeof stored === 'string' ? stored : ''
  const setSearch = useSetSearch()
  const [text, setText] = useState(urlText)
  const [appliedText, setAppliedText] = useState(urlText)
  const [lastUrlText, setLastUrlText] = useState(urlText)
  if (urlText !== lastUrlText) {
    setLastUrlText(urlText)
    // After the user goes back or forward, or follows a link, the URL replaces the text. Until the router has applied a
    // text, `urlText` is an earlier one, which must not replace it.
    if (urlText !== appliedText) {
      setAppliedText(urlText)
      setText(urlText)
    }
  }
  const applyText = useEffectEvent(() => {
    if (text === urlText) return
    setAppliedText(text)
    setSearch({ [key]: text || undefined })
  })
  useEffect(() => {
    const timer = setTimeout(applyText, debounceMs)
    // Update the URL before a link is followed, so that going back restores the search.
    addEventListener('focusout', applyText)
    return () => {
      clearTimeout(timer)
      removeEventListener('focusout', applyText)
    }
  }, [text, debounceMs])
  return { text, deferred: useDeferredValue(text), setText }
}

/** Returns the sort order in the parameters `sort` and `order`; `initial` is the default. */
export const sortOf = ({ sort, order }: Record<string, unknown>, initial: Sort): Sort => ({
  column: typeof sort === 'string' ? sort : initial.column,
  order: order === 'asc' || order === 'desc' ? order : initial.order,
})

/** The sort order in the URL, and a function that changes it. */
export function useUrlSort(initial: Sort): { sort: Sort; setSort: (sort: Sort) => void } {
  const sort = sortOf({ sort: useParam('sort'), order: useParam('order') }, initial)
  const setSearch = useSetSearch()
  const isInitial = (next: Sort) => next.column === initial.column && next.order === initial.order
  return {
    sort,
    setSort: (next) =>
      setSearch(isInitial(next) ? { sort: undefined, order: undefined } : { sort: next.column, order: next.order }),
  }
}
