import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { localUrl } from '../../server/src/ports/listener.ts'
import { readSettings } from './layout.ts'

/** Returns whether systemd is process 1 of this machine. */
export const hasSystemd = (): boolean => existsSync('/run/systemd/system')

/** Runs a program, and returns its output. @throws Error with its output if it fails */
export function run(program: string, args: string[]): string {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 2 ** 26 })
  } catch (error) {
    const { stderr, stdout } = error as { stderr?: string; stdout?: string }
    const output = `${stdout ?? ''}${stderr ?? ''}`.trim() || (error as Error).message
    throw new Error(`${program} ${args.join(' ')} failed: ${output.slice(-3000)}`, { cause: error })
  }
}

/** Runs `systemctl`, and returns its output. @throws Error with its output if it fails */
export const systemctl = (...args: string[]): string => run('systemctl', args)

/** Returns the last lines of the server's log, without messages of systemd; an empty string if the log cannot be read. */
export function logTail(): string {
  try {
    return run('journalctl', ['_SYSTEMD_UNIT=shoal.service', '-n', '20', '--no-pager', '-o', 'cat'])
  } catch {
    return ''
  }
}

/** Returns the ids of the other processes whose program is in a folder (servers, Postgres, squids), even if the folder was deleted. */
export function processesFrom(folder: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && programOf(pid).startsWith(`${folder}/`) && pid !== process.pid)
}

function programOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/exe`)
  } catch {
    return ''
  }
}

/** The responses of `/healthz` and `/readyz`. */
type Page = { status: string; version?: string; checks?: Record<string, string> }

/**
 * Waits until the server of this version is ready.
 * @returns null when it is ready; after `withinMs`, a sentence about why it is not
 */
export async function waitUntilReady(version: string, withinMs: number): Promise<string | null> {
  const { SHOAL_HOST = '127.0.0.1', SHOAL_PORT = '4000' } = readSettings()
  const url = localUrl(SHOAL_HOST, Number(SHOAL_PORT))
  const deadline = performance.now() + withinMs
  let problem = 'it does not respond'
  while (performance.now() < deadline) {
    const [health, ready] = await Promise.all([read(`${url}/healthz`), read(`${url}/readyz`)])
    if (ready?.status === 'ok' && health?.version === version) return null
    if (ready) problem = `its checks are ${JSON.stringify(ready.checks ?? {})}`
    if (health?.version && health.version !== version) problem = `version ${health.version} responds`
    await delay(500)
  }
  return `It was not ready within ${Math.round(withinMs / 1000)} s: ${problem}.`
}

/**
 * Watches whether the ready server keeps running: systemd restarts a server that ends.
 * @returns null if it ran for `durationMs`; otherwise a sentence that says that it ended
 */
export async function watchServer(durationMs: number): Promise<string | null> {
  const pidOf = () => systemctl('show', 'shoal.service', '--property=MainPID', '--value').trim()
  const pid = pidOf()
  const deadline = performance.now() + durationMs
  while (performance.now() < deadline) {
    await delay(500)
    if (pidOf() !== pid) return 'It ended after it was ready.'
  }
  return null
}

async function read(url: string): Promise<Page | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(4_000) })
    return (await response.json()) as Page
  } catch {
    return null
  }
}
