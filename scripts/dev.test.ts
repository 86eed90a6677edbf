import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../e2e/support/free-port.ts'
import { endLeftovers, endProcessesOf } from './leftovers.ts'
import { root } from './root.ts'

const statusOf = async (url: string) => (await fetch(url).catch(() => null))?.status

test('npm run dev serves the sources of the console, proxies its API calls, and leaves no processes after Ctrl-C', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-dev-'))
  onTestFinished(() => {
    endProcessesOf(folder)
    rmSync(folder, { recursive: true, force: true })
  })
  const [port, gatewayPort, pagePort] = [await freePort(), await freePort(), await freePort()]
  const env = {
    ...process.env,
    SHOAL_DATA_DIR: folder,
    SHOAL_PORT: String(port),
    SHOAL_GATEWAY_PORT: String(gatewayPort),
    SHOAL_RUNTIME: 'sim',
    SHOAL_ON_EXIT: 'stop',
  }
  const args = [join(root, 'scripts/dev.ts'), '--force', '--port', String(pagePort), '--strictPort']
  // In a separate process group, as in a terminal.
  const dev = spawn(process.execPath, args, { env, detached: true, stdio: 'ignore' })
  const ended = new Promise<number | null>((resolve) => dev.once('exit', resolve))
  const page = `http://localhost:${pagePort}`
  await expect.poll(() => statusOf(`${page}/api/v1/auth/options`)).toBe(200)
  // To serve these files, Vite bundles the dependencies that they import; if it cannot, it exits.
  for (const file of ['app/main.tsx', 'pages/playground/GraphiqlEditor.tsx'])
    expect(await statusOf(`${page}/src/${file}`)).toBe(200)
  process.kill(-(dev.pid ?? 0), 'SIGINT')
  expect(await ended).toBe(0)
  expect(await endLeftovers(folder)).toEqual([])
})
