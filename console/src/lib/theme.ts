import { getSetting, onSettingChange, setSetting } from './local-settings.ts'

/**
 * The theme is an attribute of the root element, and colours follow by CSS, so a switch renders nothing. The inline
 * script in index.html sets it before the first paint.
 */
function show(): void {
  document.documentElement.dataset['theme'] = getSetting('theme')
}

/** Also applies changes made in another tab. */
export function followTheme(): () => void {
  show()
  return onSettingChange(show)
}

export function toggleTheme(): void {
  setSetting('theme', getSetting('theme') === 'dark' ? 'light' : 'dark')
}

/** The value of a design token in the current theme, for canvases. `name` without the dashes: `accent`. */
export function tokenValue(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}

/** Subscribes to theme changes, for what CSS cannot reach. Returns a function that unsubscribes. */
export function onThemeChange(listener: () => void): () => void {
  const observer = new MutationObserver(listener)
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => observer.disconnect()
}
