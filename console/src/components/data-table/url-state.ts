import { useNavigate, useSearch, type RegisteredRouter, type RouteById, type RouteIds } from '@tanstack/react-router'
import { useDeferredValue, useEffect, useEffectEvent, useState } from 'react'
import type { Sort } from './columns.ts'

/** Default delay between the last key and the update of the URL. Leaving the field updates it immediately. */
const defaultDebounceMs = 250

type Tree = RegisteredRouter['routeTree']

/** A route, as `getRouteApi` returns it. */
export type SearchRoute<Id extends RouteIds<Tree> = RouteIds<Tree>> = { id: Id }

/** The type of the query parameters that the route reads. */
export type SearchOf<R extends SearchRoute> =
  R extends SearchRoute<infer Id> ? RouteById<Tree, Id>['types']['fullSearchSchema'] : never

type Changes<S> = { [K in keyof S]?: S[K] | undefined }
/** Changes the given parameters and keeps the others. Only `push` adds a history entry. */
export type SetSearch<S> = (changes: Changes<S>, history?: 'replace' | 'push') => void

/** Returns a function that changes parameters of the query string. `_route` only determines their types. */
export function useSetSearch<R extends SearchRoute>(_route: R): SetSearch<SearchOf<R>> {
  const navigate = useNavigate()
  return (changes, history = 'replace') =>
    void navigate({
      to: '.',
      search: ((current: object) => ({ ...current, ...changes })) as never,
      replace: history === 'replace',
      resetScroll: false,
    })
}

/** One parameter of the query string, as validated by the route. */
const useSearchParam = (key: string): unknown =>
  useSearch({ strict: false, select: (search) => (search as Record<string, unknown>)[key] })

/** The names of the parameters whose value is a string. */
type TextKey<S> = string & { [K in keyof S]-?: S[K] extends string | undefined ? K : never }[keyof S]

/**
 * The state of a search field whose text is kept in the URL, in the parameter `key`. `text` is for the field, `deferred` for filtering, so
 * that typing never waits for a long table.
 */
export function useSearchText<R extends SearchRoute>(
  route: R,
  key: TextKey<SearchOf<R>>,
  debounceMs = defaultDebounceMs,
): { text: string; deferred: string; setText: (text: string) => void } {
  const stored = useSearchParam(key)
  const urlText = typeof stored === 'string' ? stored : ''
  const setSearch = useSetSearch(route) as SetSearch<Record<string, unknown>>
  const [text, setText] = useState(urlText)
  const [appliedText, setAppliedText] = useState(urlText)
  const [previousUrlText, setPreviousUrlText] = useState(urlText)
  if (urlText !== previousUrlText) {
    setPreviousUrlText(urlText)
    // When the user goes back or forward, or follows a link, the text of the URL replaces that of the field. If the text of
    // the URL came from the field, the field stays: the user may have typed more since.
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
    // Update the URL before the user follows a link, so that going back restores the search.
    addEventListener('focusout', applyText)
    return () => {
      clearTimeout(timer)
      removeEventListener('focusout', applyText)
    }
  }, [text, debounceMs])
  return { text, deferred: useDeferredValue(text), setText }
}

type SortSearch<C extends string = string> = { sort?: C | undefined; order?: Sort['order'] | undefined }

/** The sort order that the parameters `sort` and `order` give; `initial` is the default for each. */
export const sortIn = <C extends string>({ sort, order }: SortSearch<C>, initial: Sort<C>): Sort<C> => ({
  column: sort ?? initial.column,
  order: order ?? initial.order,
})

/** The columns that the route accepts in `sort`. */
type ColumnOf<R extends SearchRoute> = SearchOf<R> extends { sort?: infer C } ? C & string : never

export type UrlSort = { sort: Sort; setSort: (sort: Sort) => void }

/** The sort order in the URL, and a function that changes it, for `QueryTable`. */
export function useUrlSort<R extends SearchRoute>(route: R, initial: Sort<ColumnOf<R>>): UrlSort {
  const setSearch = useSetSearch(route) as SetSearch<SortSearch>
  const sort = sortIn({ sort: useSearchParam('sort'), order: useSearchParam('order') } as SortSearch, initial as Sort)
  const isInitial = (next: Sort) => next.column === initial.column && next.order === initial.order
  return {
    sort,
    setSort: (next) =>
      // app/search.test.ts checks that the route accepts every sortable column.
      setSearch(isInitial(next) ? { sort: undefined, order: undefined } : { sort: next.column, order: next.order }),
  }
}
