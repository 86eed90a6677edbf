export type Toast = { tone: 'info' | 'good' | 'warn' | 'bad'; title: string; message?: string }

/** Of the generic snackbar (spec 8). */
export const unexpectedErrorTitle = 'Some unexpected error occurred!'

let shownBy: ((toast: Toast) => void) | null = null
let isWanted = false
const waiting: Toast[] = []
const listeners = new Set<() => void>()

/** Says something in the corner of the screen. What went wrong stays until it is closed. */
export function toast(message: Toast): void {
  if (shownBy) return shownBy(message)
  waiting.push(message)
  isWanted = true
  for (const listener of listeners) listener()
}

/** There was a toast to shownBy, ever: only then the region's code is loaded. */
export const isToastWanted = (): boolean => isWanted

export function onToastWanted(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The region hands in how to shownBy one, once it is there. */
export function connectToasts(showToast: (toast: Toast) => void): void {
  shownBy = showToast
  for (const message of waiting.splice(0)) showToast(message)
}
