import { createStore } from './store.ts'

/** The name of the cookie of preview mode. It is a cookie, so that the server can read it (spec 2.12). */
const cookieName = 'beta'
const lifetimeDays = 3650

const preview = createStore(document.cookie.split('; ').includes(`${cookieName}=true`))

/** Whether this browser is in preview mode. */
export const isPreviewOn = preview.get
/** `isPreviewOn` as React state. */
export const usePreview = preview.use

/** Turns preview mode on or off. */
export function setPreview(isOn: boolean): void {
  const maxAge = isOn ? lifetimeDays * 86_400 : 0
  document.cookie = `${cookieName}=true; path=/; max-age=${maxAge}; samesite=lax`
  preview.set(isOn)
}
