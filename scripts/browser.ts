import { existsSync } from 'node:fs'
import { runCommand } from './command.ts'

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

/** Installs Debian's Chromium when no browser is there. Throws, saying what to do, where that cannot be done. */
export async function ensureBrowser(): Promise<void> {
  if (findBrowser()) return
  const whatToDo = 'The browser tests need Chromium or Chrome. Install one, or name one in CHROME_PATH.'
  if (!existsSync('/usr/bin/apt-get')) throw new Error(whatToDo)
  console.error('Installing Chromium for the browser tests (apt-get) …')
  const asRoot = process.getuid?.() === 0 ? '' : 'sudo -n '
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const script = `${asRoot}apt-get update -q && ${asRoot}apt-get install -y -q --no-install-recommends chromium`
  const { code, output, elapsedMs } = await runCommand('sh', ['-c', script], { env })
  if (code !== 0 || !findBrowser()) throw new Error(`${output.slice(-2000)}\n${whatToDo}`)
  console.error(`Installed Chromium in ${Math.round(elapsedMs / 1000)} s.`)
}
