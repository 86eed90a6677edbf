/** The name of the cookie of preview mode. It is a cookie, so that the server can read it (spec 2.12). */
const cookieName = 'beta'
const lifetimeDays = 3650

/** Whether this browser is in preview mode. */
export function isPreviewOn(): boolean {
  return document.cookie.split('; ').some((cookie) => cookie === `${cookieName}=true`)
}

/** Turns preview mode on or off. The caller has to reload the page, because components do not render again when the cookie changes. */
export function setPreview(isOn: boolean): void {
  const maxAge = isOn ? lifetimeDays * 86_400 : 0
  document.cookie = `${cookieName}=true; path=/; max-age=${maxAge}; samesite=lax`
}
