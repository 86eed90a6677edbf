/** The value of a design token in the current theme, for canvases. `name` does not include the leading dashes: `accent`. */
export function tokenValue(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}

/** Subscribes to theme changes, for canvases, which CSS cannot style. Returns a function that unsubscribes. */
export function onThemeChange(listener: () => void): () => void {
  const observer = new MutationObserver(listener)
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => observer.disconnect()
}
