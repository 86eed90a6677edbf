/**
 * Import this file before uPlot. uPlot formats numbers in the language of the browser as soon as it loads, and throws an error if the
 * language is invalid, such as `C` or `en-US@posix`, which Chromium reports on a Linux machine without a locale.
 */
function isValid(language: string): boolean {
  try {
    return Intl.getCanonicalLocales(language).length > 0
  } catch {
    return false
  }
}

if (!isValid(navigator.language)) Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true })
