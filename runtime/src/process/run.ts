import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from '../error-code.ts'
import { type Program, launchScript } from './launch-script.ts'
import { findProcess, isSameProcess } from './processes.ts'
import { PLAIN_ENV } from './sandbox.ts'

/** Poll interval of adopted runs, which are not children of this process and therefore emit no exit event. */
const POLL_MS = 250

/** Interval at which shim.sh checks whether all programs have ended. */
const SHIM_POLL_MS = 50

/** One run of a container's program, with the shim that watches it. */
export type Run = {
  dir: string
  shim: { pid: number; startedAt: string }
  /** 128 + n for signal n; null when unknown (the shim was killed, or the host went down). Never resolves after `detach`. */
  ended: Promise<number | null>
  hasEnded: () => boolean
  /** Stops waiting; the run continues. */
  detach(): void
}

export type RunStart = {
  /** A copy of shim.sh that never changes, since shells read scripts incrementally. */
  shimFile: string
  /** Created by the shim. Must not exist; its parent must. */
  dir: string
  /** Grace period of the program's children when the program was terminated. */
  graceMs: number
  logFile: string
  joinFiles: string[]
  confinement: string[]
  program: Program
}

/**
 * Starts the shim and with it the program.
 * @throws when the host fails (process limit reached, disk full)
 */
export async function startRun(start: RunStart): Promise<Run> {
  const { shimFile, dir, graceMs, logFile, joinFiles, confinement, program } = start
  const words = [
    shimFile,
    dir,
    String(Math.ceil(graceMs / SHIM_POLL_MS)),
    ...joinFiles,
    '--',
    ...confinement,
    '/bin/sh',
    '-s',
  ]
  const script = openUnlinked(`${dir}.launch`, launchScript(program))
  const log = openSync(logFile, 'a', 0o600)
  try {
    const child = spawn('/bin/sh', words, { cwd: '/', env: PLAIN_ENV, detached: true, stdio: [script, log, log] })
    const exited = once(child, 'exit')
    // Awaited later: prevents an unhandled rejection until then.
    exited.catch(() => undefined)
    await once(child, 'spawn')
    child.unref()
    const pid = child.pid ?? 0
    return {
      dir,
      shim: { pid, startedAt: findProcess(pid)?.startedAt ?? '' },
      ended: exited.then(() => readExit(dir)),
      hasEnded: () => child.exitCode !== null || child.signalCode !== null,
      detach: () => child.removeAllListeners(),
    }
  } finally {
    closeSync(script)
    closeSync(log)
  }
}

/** Adopts a run of an earlier server: it still runs, has ended with a code, or never started and now never will. */
export async function adoptRun(dir: string): Promise<Run | { exitCode: number | null } | 'never started'> {
  if (claimRunDir(dir)) return 'never started'
  const pids = await readPids(dir)
  if (!pids || !isSameProcess(pids.shim.pid, pids.shim.startedAt)) return { exitCode: readExit(dir) }
  return { dir, shim: pids.shim, ...watch(dir, pids.shim) }
}

/** The child of the shim: bwrap if used, otherwise the program. */
export async function topProcess(run: Run): Promise<number | null> {
  return (await readPids(run.dir))?.program ?? null
}

/** Creates the run's directory before its shim does, which prevents the run from starting. */
function claimRunDir(dir: string): boolean {
  try {
    mkdirSync(dir)
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  }
}

type Pids = { shim: Run['shim']; program: number }

/** Null when the shim ended before it could write them, which it does right after creating the directory. */
async function readPids(dir: string): Promise<Pids | null> {
  for (let attempt = 0; attempt < 100; attempt++) {
    if (existsSync(join(dir, 'pids'))) {
      const [shim, program, ...startedAt] = readFileSync(join(dir, 'pids'), 'utf8').trim().split(' ')
      return { shim: { pid: Number(shim), startedAt: startedAt.join(' ') }, program: Number(program) }
    }
    await sleep(10)
  }
  return null
}

function readExit(dir: string): number | null {
  try {
    return Number(readFileSync(join(dir, 'exit'), 'utf8'))
  } catch {
    return null
  }
}

function watch(dir: string, shim: Run['shim']): Pick<Run, 'ended' | 'hasEnded' | 'detach'> {
  const { promise, resolve } = Promise.withResolvers<number | null>()
  const hasEnded = () => existsSync(join(dir, 'exit')) || !isSameProcess(shim.pid, shim.startedAt)
  const timer = setInterval(() => {
    if (!hasEnded()) return
    clearInterval(timer)
    resolve(readExit(dir))
  }, POLL_MS)
  return { ended: promise, hasEnded, detach: () => clearInterval(timer) }
}

/** Opens a file without a name: it contains secrets of the squid and must not be left behind. */
function openUnlinked(path: string, text: string): number {
  writeFileSync(path, text, { mode: 0o600 })
  const descriptor = openSync(path, 'r')
  rmSync(path)
  return descriptor
}
