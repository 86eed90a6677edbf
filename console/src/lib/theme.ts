import { getSetting, onSettingChange, setSetting } from './local-settings.ts'

/**
 * Sets the theme as an attribute of the root element. CSS derives all colours from it, so no component renders again when the theme
 * changes. The inline script in index.html sets the attribute before the first paint.
 */
function applyTheme(): void {
  document.documentElement.dataset['theme'] = getSetting('theme')
}

/** Applies the stored theme and its changes, including those made in another tab. Returns a function that unsubscribes. */
export function followTheme(): () => void {
  applyTheme()
  return onSettingChange(applyTheme)
}

/** Switches between the light and the dark theme, and stores the choice. */
export function toggleTheme(): void {
  setSetting('theme', getSetting('theme') === 'dark' ? 'light' : 'dark')
}
