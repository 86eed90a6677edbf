import { useSyncExternalStore } from 'react'
import { useOrg } from '../api/active-org.ts'
import { useUser } from '../api/session.ts'

/** A list that the signed-in user has for the active organization, stored in the browser. `save` replaces all its items. */
export type LocalList<T> = { items: readonly T[]; save: (items: readonly T[]) => void }

/** `save` drops further items, so that a list uses little of the browser's storage. */
const maxItems = 100
const noItems: readonly never[] = []

/**
 * Creates a hook for lists in localStorage under `key`. Each user has a separate list for each organization, which survives signing out.
 * Items that `isItem` rejects are ignored: other programs and older builds may have written them.
 */
export function createLocalList<T>(key: string, isItem: (value: unknown) => value is T): () => LocalList<T> {
  const listeners = new Set<() => void>()
  let cache: { text: string | null; lists: Record<string, readonly T[]> } = { text: null, lists: {} }

  /** Returns the same arrays until the stored text changes. */
  const read = (): Record<string, readonly T[]> => {
    const text = localStorage.getItem(key)
    if (text !== cache.text) cache = { text, lists: listsOf(text, isItem) }
    return cache.lists
  }
  const subscribe = (listener: () => void) => {
    listeners.add(listener)
    window.addEventListener('storage', listener)
    return () => {
      listeners.delete(listener)
      window.removeEventListener('storage', listener)
    }
  }
  return () => {
    const scope = `${useUser().id}/${useOrg().code}`
    const items = useSyncExternalStore(subscribe, () => read()[scope] ?? noItems)
    const save = (next: readonly T[]) => {
      localStorage.setItem(key, JSON.stringify({ ...read(), [scope]: next.slice(0, maxItems) }))
      for (const listener of listeners) listener()
    }
    return { items, save }
  }
}

/** Parses the stored text: the valid items of each list, by user and organization. Exported for the test. */
export function listsOf<T>(text: string | null, isItem: (value: unknown) => value is T): Record<string, readonly T[]> {
  const parsed = parseJson(text)
  if (typeof parsed !== 'object' || parsed === null) return {}
  return Object.fromEntries(
    Object.entries(parsed).flatMap(([scope, items]) => (Array.isArray(items) ? [[scope, items.filter(isItem)]] : [])),
  )
}

function parseJson(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return null
  }
}
