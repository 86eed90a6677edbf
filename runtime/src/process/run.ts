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
export type WatchedRun = {
  dir: string
  shim: { pid: number; startedAt: string }
  /**
   * Resolves with the exit code (128 + n for signal n), or with null if it is unknown (the shim was killed, or the host went down).
   * Never resolves after `detach`.
   */
  ended: Promise<number | null>
  hasEnded: () => boolean
  /** Stops waiting for the run, which continues. */
  detach(): void
}

export type RunStart = {
  /** A copy of shim.sh that never changes, since shells read scripts incrementally. */
  shimFile: string
  /** Must not exist, since the shim creates it; its parent must exist. */
  dir: string
  /** Grace period of the program's children if the program ends by SIGTERM. */
  graceMs: number
  /** The program's output is appended to it. */
  logFile: string
  /** The `cgroup.procs` files of the cgroups that the program joins. */
  cgroupProcsFiles: string[]
  /** The command prefix that confines the program, such as bwrap with its options. */
  confinement: string[]
  program: Program
}

/**
 * Starts the shim, which starts the program.
 * @throws when the shim cannot be started (process limit reached, disk full)
 */
export async function startRun(start: RunStart): Promise<WatchedRun> {
  const { shimFile, dir, graceMs, logFile, cgroupProcsFiles, confinement, program } = start
  const args = [
    shimFile,
    dir,
    String(Math.ceil(graceMs / SHIM_POLL_MS)),
    ...cgroupProcsFiles,
    '--',
    ...confinement,
    '/bin/sh',
    '-s',
  ]
  const script = openUnlinked(`${dir}.launch`, launchScript(program))
  const log = openSync(logFile, 'a', 0o600)
  try {
    const child = spawn('/bin/sh', args, { cwd: '/', env: PLAIN_ENV, detached: true, stdio: [script, log, log] })
    const exited = once(child, 'exit')
    // Awaited later; until then, this prevents an unhandled rejection.
    exited.catch(() => undefined)
    await once(child, 'spawn')
    child.unref()
    const pid = child.pid ?? 0
    return {
      dir,
      shim: { pid, startedAt: findProcess(pid)?.startedAt ?? '' },
      ended: exited.then(() => readExitCode(dir)),
      hasEnded: () => child.exitCode !== null || child.signalCode !== null,
      detach: () => child.removeAllListeners(),
    }
  } finally {
    closeSync(script)
    closeSync(log)
  }
}

/**
 * Adopts a run that an earlier server requested, if the run has not ended. Returns the exit code of a run that has ended. Prevents the
 * start of a run that never started.
 */
export async function adoptRun(dir: string): Promise<WatchedRun | { exitCode: number | null } | 'never started'> {
  if (claimRunDir(dir)) return 'never started'
  const pids = await readPids(dir)
  if (!pids || !isSameProcess(pids.shim.pid, pids.shim.startedAt)) return { exitCode: readExitCode(dir) }
  return { dir, shim: pids.shim, ...pollExit(dir, pids.shim) }
}

/** Returns the pid of the shim's child: bwrap if used, otherwise the program. */
export async function shimChild(run: WatchedRun): Promise<number | null> {
  return (await readPids(run.dir))?.program ?? null
}

/** Creates the run's directory, which prevents the run from starting. False if its shim has already created it. */
function claimRunDir(dir: string): boolean {
  try {
    mkdirSync(dir)
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  }
}

type Pids = { shim: WatchedRun['shim']; program: number }

/**
 * Reads the pids of shim and program. The shim writes them right after creating the directory; null when they are missing for a second,
 * because the shim ended before it wrote them.
 */
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

function readExitCode(dir: string): number | null {
  try {
    return Number(readFileSync(join(dir, 'exit'), 'utf8'))
  } catch {
    return null
  }
}

function pollExit(dir: string, shim: WatchedRun['shim']): Pick<WatchedRun, 'ended' | 'hasEnded' | 'detach'> {
  const { promise, resolve } = Promise.withResolvers<number | null>()
  const hasEnded = () => existsSync(join(dir, 'exit')) || !isSameProcess(shim.pid, shim.startedAt)
  const timer = setInterval(() => {
    if (!hasEnded()) return
    clearInterval(timer)
    resolve(readExitCode(dir))
  }, POLL_MS)
  return { ended: promise, hasEnded, detach: () => clearInterval(timer) }
}

/** Writes and opens a file, and deletes its name: it contains secrets of the squid and must not remain on disk. */
function openUnlinked(path: string, text: string): number {
  writeFileSync(path, text, { mode: 0o600 })
  const descriptor = openSync(path, 'r')
  rmSync(path)
  return descriptor
}
