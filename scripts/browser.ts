import { existsSync } from 'node:fs'

const knownPaths = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** Returns the path of an installed Chromium or Chrome, preferably the one in `CHROME_PATH`; null if there is none. */
export function findBrowser(): string | null {
  return [process.env['CHROME_PATH'], ...knownPaths].find((path) => path && existsSync(path)) ?? null
}
