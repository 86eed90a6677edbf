export type Toast = { tone: 'info' | 'good' | 'warn' | 'bad'; title: string; message?: string }

/** Title of the generic snackbar (spec 8). */
export const unexpectedErrorTitle = 'Some unexpected error occurred!'

let showInRegion: ((toast: Toast) => void) | null = null
let isNeeded = false
const queued: Toast[] = []
const listeners = new Set<() => void>()

/** Shows a toast. Errors stay until the user closes them. */
export function toast(message: Toast): void {
  if (showInRegion) return showInRegion(message)
  queued.push(message)
  isNeeded = true
  for (const listener of listeners) listener()
}

/** True after the first toast, when the code of the toast region has to be loaded. */
export const isToastRegionNeeded = (): boolean => isNeeded

export function onToastRegionNeeded(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Called by the toast region when its code has loaded: shows the queued toasts, and later ones directly. */
export function connectToasts(showToast: (toast: Toast) => void): void {
  showInRegion = showToast
  for (const message of queued.splice(0)) showToast(message)
}
