import { useNavigate, useSearch, type RegisteredRouter, type RouteById, type RouteIds } from '@tanstack/react-router'
import { useDeferredValue, useEffect, useEffectEvent, useState } from 'react'
import type { Sort } from './columns.ts'

/** Default delay between the last key and the update of the URL. Leaving the field updates it immediately. */
const defaultDebounceMs = 250

type Tree = RegisteredRouter['routeTree']

/** A route, as `getRouteApi` returns it. */
export type SearchRoute<Id extends RouteIds<Tree> = RouteIds<Tree>> = { id: Id }

/** The parameters of the query string that the route reads. */
export type SearchOf<R extends SearchRoute> =
  R extends SearchRoute<infer Id> ? RouteById<Tree, Id>['types']['fullSearchSchema'] : never

type Changes<S> = { [K in keyof S]?: S[K] | undefined }
export type SetSearch<S> = (changes: Changes<S>, history?: 'replace' | 'push') => void

/** Changes some parameters of the query string and keeps the others. Only `push` adds a history entry. `_route` only determines the types. */
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

/** The names of the parameters that are a single text. */
type TextKey<S> = string & { [K in keyof S]-?: S[K] extends string | undefined ? K : never }[keyof S]

/**
 * A search field whose text is in the URL. `text` is for the field, `deferred` for filtering, so that typing never
 * waits for a long table.
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
  const [lastUrlText, setLastUrlText] = useState(urlText)
  if (urlText !== lastUrlText) {
    setLastUrlText(urlText)
    // When the user goes back or forward, or follows a link, the text of the URL replaces that of the field. A text that
    // came from the field must not, since the user may have typed more by then.
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

type SortSearch<C extends string = string> = { sort?: C | undefined; order?: Sort['order'] | undefined }

/** The sort order in the parameters `sort` and `order`; `initial` is the default. */
export const sortIn = <C extends string>({ sort, order }: SortSearch<C>, initial: Sort<C>): Sort<C> => ({
  column: sort ?? initial.column,
  order: order ?? initial.order,
})

/** A column that the route knows. */
type ColumnOf<R extends SearchRoute> = SearchOf<R> extends { sort?: infer C } ? C & string : never

export type UrlSort = { sort: Sort; setSort: (sort: Sort) => void }

/** The sort order in the URL, for `QueryTable`. */
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
