import { useSyncExternalStore } from 'react'

const tickMs = 1000
let nowMs = Date.now()
let timer = 0
const listeners = new Set<() => void>()

function tick(): void {
  nowMs = Date.now()
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) {
    nowMs = Date.now()
    timer = window.setInterval(tick, tickMs)
  }
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) clearInterval(timer)
  }
}

/**
 * A value derived from the current time, updated every second. All components share one timer, and a component renders only when its
 * value changes.
 */
export function useTicking<T extends string | number | boolean>(valueAt: (nowMs: number) => T): T {
  return useSyncExternalStore(subscribe, () => valueAt(nowMs))
}
