export type Toast = { tone: 'info' | 'good' | 'warn' | 'bad'; title: string; message?: string }

/** Title of the generic snackbar (spec 8). */
export const unexpectedErrorTitle = 'Some unexpected error occurred!'

let shownBy: ((toast: Toast) => void) | null = null
let isWanted = false
const waiting: Toast[] = []
const listeners = new Set<() => void>()

/** Shows a toast. Errors stay until the user closes them. */
export function toast(message: Toast): void {
  if (shownBy) return shownBy(message)
  waiting.push(message)
  isWanted = true
  for (const listener of listeners) listener()
}

/** True after the first toast: only then is the toast region's code loaded. */
export const isToastWanted = (): boolean => isWanted

export function onToastWanted(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The loaded region registers how to show a toast. */
export function connectToasts(showToast: (toast: Toast) => void): void {
  shownBy = showToast
  for (const message of waiting.splice(0)) showToast(message)
}
