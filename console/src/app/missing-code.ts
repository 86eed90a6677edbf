import { lazyRouteComponent } from '@tanstack/react-router'
import { isServerResponding } from '../api/connection.ts'
import { isMissingCode, toastMissing } from '../lib/lazy.tsx'

const reloadedAtKey = 'reloaded_at'
const minReloadIntervalMs = 30_000
const pollMs = 2000
/** A second failure within this time after a retry means that only reloading the tab can help. */
const retryWindowMs = 15_000

/** The time after `beforeunload` during which the browser may still be leaving the page. */
const maxLeavingMs = 10_000

let leftAtMs = 0
let retriedAtMs = 0

/**
 * Creates the component of a route, whose code loads with the route. `lazyRouteComponent` alone would reload the tab when the code
 * is missing, even while the server does not respond, and the browser's error page would replace the app.
 */
export const lazyPage: typeof lazyRouteComponent = (load, exportName) =>
  lazyRouteComponent(
    () =>
      load().catch((error: unknown) => {
        // The router would reload the tab if the message started with the browser's text.
        throw new Error(`Missing: ${String(error)}`)
      }),
    exportName,
  )

/**
 * Waits until the server responds, then calls `retry`. A second call within `retryWindowMs` after that means that the retry failed: the
 * server has a newer build, or the browser has cached the failure. It reloads the tab instead, at most once per `minReloadIntervalMs`.
 * Returns a function that stops waiting.
 */
export function recoverMissingCode(retry: () => void): () => void {
  let isWaiting = true
  const poll = async () => {
    while (isWaiting) {
      // For a second after a failure, `lazyPart` does not request the code again.
      await new Promise((done) => setTimeout(done, pollMs))
      if (!isWaiting || !(await isServerResponding())) continue
      if (Date.now() - retriedAtMs < retryWindowMs) reloadOnce()
      else {
        isWaiting = false
        retriedAtMs = Date.now()
        retry()
      }
    }
  }
  void poll()
  return () => void (isWaiting = false)
}

const isLeaving = () => Date.now() - leftAtMs < maxLeavingMs

function reloadOnce(): void {
  // A browser that leaves the page cancels its requests. Reloading the page at that moment would cancel the navigation.
  if (isLeaving() || Date.now() - Number(sessionStorage.getItem(reloadedAtKey)) < minReloadIntervalMs) return
  sessionStorage.setItem(reloadedAtKey, String(Date.now()))
  location.reload()
}

/** From now on, shows a toast when the code for a user's action cannot be loaded. Error boundaries handle missing components. */
export function reportMissingCode(): void {
  addEventListener('beforeunload', () => {
    leftAtMs = Date.now()
  })
  addEventListener('unhandledrejection', (event) => {
    if (!isMissingCode(event.reason)) return
    event.preventDefault()
    if (!isLeaving()) toastMissing('This')
  })
}
