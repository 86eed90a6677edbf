import { useSyncExternalStore } from 'react'

/** How lines are displayed. Stored in the browser, separately from the settings that every page loads. */
type Display = {
  /** Whether all lines of a text are shown. */
  isWrapped: boolean
  /** Whether times are in UTC instead of the user's time zone. */
  isUtc: boolean
}

const key = 'logDisplay'
let display: Display = read()
const listeners = new Set<() => void>()

function read(): Display {
  try {
    const stored = JSON.parse(localStorage.getItem(key) ?? '{}') as Partial<Display> | null
    return { isWrapped: stored?.isWrapped === true, isUtc: stored?.isUtc === true }
  } catch {
    return { isWrapped: false, isUtc: false }
  }
}

export function setDisplay(changes: Partial<Display>): void {
  display = { ...display, ...changes }
  localStorage.setItem(key, JSON.stringify(display))
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useDisplay = (): Display => useSyncExternalStore(subscribe, () => display)
