import { existsSync } from 'node:fs'

const known = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** The path of an installed Chromium or Chrome, the one named by `CHROME_PATH` first; null when there is none. */
export function findBrowser(): string | null {
  return [process.env['CHROME_PATH'], ...known].find((path) => path && existsSync(path)) ?? null
}
