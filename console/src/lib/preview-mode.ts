/** Preview mode is a cookie, so that the server can read it (spec 2.12). */
const name = 'beta'
const lifetimeDays = 3650

export function isPreviewOn(): boolean {
  return document.cookie.split('; ').some((cookie) => cookie === `${name}=true`)
}

/** The caller has to reload the page: preview mode is read once at start. */
export function setPreview(isOn: boolean): void {
  const maxAge = isOn ? lifetimeDays * 86_400 : 0
  document.cookie = `${name}=true; path=/; max-age=${maxAge}; samesite=lax`
}
