import { createStore } from './store.ts'

export type Toast = { tone: 'info' | 'good' | 'warn' | 'bad'; title: string; message?: string }

/** Title of the toast about an error without a more specific one (spec 8). */
export const unexpectedErrorTitle = 'Some unexpected error occurred!'

let showInRegion: ((toast: Toast) => void) | null = null
const queued: Toast[] = []
const isRegionNeeded = createStore(false)

/** Shows a toast. Errors stay until the user closes them. */
export function toast(message: Toast): void {
  if (showInRegion) return showInRegion(message)
  queued.push(message)
  isRegionNeeded.set(true)
}

/** True after the first toast, when the code of the toast region has to be loaded. */
export const useIsToastRegionNeeded = isRegionNeeded.use

/** Called by the toast region when its code has loaded: shows the queued toasts, and later ones directly. */
export function connectToasts(showToast: (toast: Toast) => void): void {
  showInRegion = showToast
  for (const message of queued.splice(0)) showToast(message)
}
