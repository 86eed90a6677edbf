import { createStore } from '../../../lib/store.ts'

/** How log lines are displayed. Stored in the browser, separately from the settings that every page loads. */
type Display = {
  /** Whether rows show all lines of a message, and long lines wrap. Otherwise a row shows the first line, truncated. */
  isWrapped: boolean
  /** Whether times are in UTC instead of the user's time zone. */
  isUtc: boolean
}

const key = 'logDisplay'
const display = createStore(read())

function read(): Display {
  try {
    const stored = JSON.parse(localStorage.getItem(key) ?? '{}') as Partial<Display> | null
    return { isWrapped: stored?.isWrapped === true, isUtc: stored?.isUtc === true }
  } catch {
    return { isWrapped: false, isUtc: false }
  }
}

/** Changes how log lines are displayed, and stores it. */
export function setDisplay(changes: Partial<Display>): void {
  const changed = { ...display.get(), ...changes }
  localStorage.setItem(key, JSON.stringify(changed))
  display.set(changed)
}

/** How log lines are displayed, as React state. */
export const useDisplay = display.use
