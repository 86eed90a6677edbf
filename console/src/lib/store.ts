import { useSyncExternalStore } from 'react'

/**
 * `use` is a hook that returns the value and renders the component again when it changes. `subscribe` calls a function after each `set`, and
 * returns a function that ends this.
 */
export type Store<T> = {
  get: () => T
  set: (value: T) => void
  use: () => T
  subscribe: (listener: () => void) => () => void
}

/** A value outside of React that components render, such as the open dialog. */
export function createStore<T>(initial: T): Store<T> {
  let value = initial
  const listeners = new Set<() => void>()
  const get = () => value
  const subscribe = (listener: () => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  return {
    get,
    set: (next) => {
      value = next
      for (const listener of listeners) listener()
    },
    subscribe,
    use: () => useSyncExternalStore(subscribe, get),
  }
}
