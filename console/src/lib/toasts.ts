export type Toast = { tone: 'info' | 'good' | 'warn' | 'bad'; title: string; message?: string }

/** Of the generic snackbar (spec 8). */
export const unexpectedErrorTitle = 'Some unexpected error occurred!'

let show: ((toast: Toast) => void) | null = null
let isWanted = false
const waiting: Toast[] = []
const listeners = new Set<() => void>()

/** Says something in the corner of the screen. What went wrong stays until it is closed. */
export function toast(message: Toast): void {
  if (show) return show(message)
  waiting.push(message)
  isWanted = true
  for (const tell of listeners) tell()
}

/** There was a toast to show, ever: only then the region's code is loaded. */
export const isToastWanted = (): boolean => isWanted

export function onToastWanted(tell: () => void): () => void {
  listeners.add(tell)
  return () => listeners.delete(tell)
}

/** The region hands in how to show one, once it is there. */
export function connectToasts(shower: (toast: Toast) => void): void {
  show = shower
  for (const message of waiting.splice(0)) shower(message)
}
