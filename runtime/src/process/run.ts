import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from '../error-code.ts'
import { type Program, launchScript } from './launch-script.ts'
import { findProcess, isSameProcess } from './processes.ts'
import { PLAIN_ENV } from './sandbox.ts'

/** How often an adopted run is looked at: it is no child of ours, so nobody tells us of its end. */
const POLL_MS = 250

/** How often shim.sh looks whether all programs have ended. */
const LOOK_OF_SHIM_MS = 50

/** One run of a container's program, with the shim that watches it. */
export type Run = {
  dir: string
  shim: { pid: number; startedAt: string }
  /** 128 + n for signal n; null when nobody can know (the shim was killed, or the host went down). Never answers once let go. */
  ended: Promise<number | null>
  hasEnded: () => boolean
  /** Stops waiting; the run goes on. */
  detach(): void
}

export type RunStart = {
  /** shim.sh where it is never changed: a shell reads its file bit by bit. */
  shimFile: string
  /** Is made by the shim: must not be there, its parent must. */
  dir: string
  /** What the program started gets so long to end when the program itself was asked to. */
  graceMs: number
  logFile: string
  joinFiles: string[]
  confinement: string[]
  program: Program
}

/**
 * Starts the shim and with it the program.
 * @throws when the host cannot (no more processes, disk full)
 */
export async function startRun(start: RunStart): Promise<Run> {
  const { shimFile, dir, graceMs, logFile, joinFiles, confinement, program } = start
  const words = [
    shimFile,
    dir,
    String(Math.ceil(graceMs / LOOK_OF_SHIM_MS)),
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
    // Awaited below or later by who waits for the end: an error must not be nobody's until then.
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

/** What an earlier server left of a run: it goes on, or it ended with a code, or it never began and now never will. */
export async function adoptRun(dir: string): Promise<Run | { exitCode: number | null } | 'never began'> {
  if (claimRunDir(dir)) return 'never began'
  const pids = await readPids(dir)
  if (!pids || !isSameProcess(pids.shim.pid, pids.shim.startedAt)) return { exitCode: readExit(dir) }
  return { dir, shim: pids.shim, ...watch(dir, pids.shim) }
}

/** The process under the shim: bwrap where that is used, else the program. */
export async function topProcess(run: Run): Promise<number | null> {
  return (await readPids(run.dir))?.program ?? null
}

/** Takes the run's place before its shim does. */
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

/** Null when the shim ended before it could write them. It does so at once after it made the directory. */
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

/** A file that only its descriptor leads to: it holds the squid's secrets and must not stay behind. */
function openUnlinked(path: string, text: string): number {
  writeFileSync(path, text, { mode: 0o600 })
  const descriptor = openSync(path, 'r')
  rmSync(path)
  return descriptor
}
