import { findProcess, tryFileLock, type FileLock } from '@shoal/runtime'
import { statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { describeHolder, locksDir, readHolder, writeHolder } from './holders.ts'

export type WorkerState =
  | { role: 'active' }
  /** `frozenForMs` is the time since the last heartbeat of the active worker; null while that is recent. */
  | { role: 'standby'; activeWorker: string; frozenForMs: number | null }

export type WorkerHandle = {
  state: () => WorkerState
  close: () => Promise<void>
}

export type StandbyIntervals = { retryMs: number; heartbeatMs: number; frozenAfterMs: number }

/** A standby must take over within 5 s and report a frozen active worker within 15 s. */
const defaultIntervals: StandbyIntervals = { retryMs: 500, heartbeatMs: 2_000, frozenAfterMs: 10_000 }

export type WorkerOptions = {
  config: Pick<Config, 'dataDir'>
  log: Logger
  /** Starts the worker and returns a function that stops it. A worker must not change the data directory before this is called. */
  startWork: () => Promise<() => Promise<void>>
  /** Called if a standby could not take over: then the process has to exit. */
  onFailure: (error: unknown) => void
  intervals?: StandbyIntervals
}

/**
 * Runs the worker in one of the processes that share the data directory, since two would start every squid twice. The others stand
 * by; one of them takes over when the active process ends for any reason. A frozen process is not replaced, since it may resume at
 * any time. Resolves when this process is active or stands by.
 * @throws any error of `startWork`, if this process becomes active immediately
 */
export async function runActiveOrStandby(options: WorkerOptions): Promise<WorkerHandle> {
  const { log, startWork, onFailure, intervals = defaultIntervals } = options
  const dir = locksDir(options.config)
  const lockFile = join(dir, 'worker.lock')
  const activeFile = join(dir, 'worker.json')
  const readHeartbeat = heartbeatReader(activeFile, intervals)
  let state: WorkerState = { role: 'active' }
  let timer: NodeJS.Timeout | undefined
  let end = () => Promise.resolve()
  let starting: Promise<void> = Promise.resolve()

  const begin = async (lock: FileLock) => {
    state = { role: 'active' }
    writeActive(activeFile)
    const heartbeat = setInterval(() => writeHeartbeat(activeFile), intervals.heartbeatMs)
    try {
      const stop = await startWork()
      end = async () => {
        clearInterval(heartbeat)
        await stop()
        lock.release()
      }
    } catch (error) {
      clearInterval(heartbeat)
      lock.release()
      throw error
    }
  }

  const standBy = () => {
    const now: WorkerState = { role: 'standby', activeWorker: describeActive(activeFile), ...readHeartbeat() }
    const before = state
    state = now
    if (before.role === 'active') log.info(`This worker stands by; the active one is ${now.activeWorker}.`)
    const [wasFrozen, isFrozen] = [before.role === 'standby' && before.frozenForMs !== null, now.frozenForMs !== null]
    if (isFrozen && !wasFrozen)
      log.error(
        `The active worker, ${now.activeWorker}, has not responded for ${Math.round((now.frozenForMs ?? 0) / 1000)} s. It is not replaced, since it may resume at any time: resume or kill it.`,
      )
    if (wasFrozen && !isFrozen) log.info(`The active worker, ${now.activeWorker}, responds again.`)
    timer = setTimeout(retry, intervals.retryMs)
  }

  const retry = () => {
    const lock = tryFileLock(lockFile, 'exclusive')
    if (!lock) return standBy()
    log.warn('The active worker has ended: this one takes over.')
    starting = begin(lock).catch(onFailure)
  }

  const lock = tryFileLock(lockFile, 'exclusive')
  if (lock) await begin(lock)
  else standBy()
  return {
    state: () => state,
    close: async () => {
      clearTimeout(timer)
      await starting
      await end()
    },
  }
}

function writeActive(file: string): void {
  const { pid } = process
  const startedAt = findProcess(pid)?.startedAt ?? ''
  writeHolder(file, {
    pid,
    startedAt,
    since: systemClock.now().toISOString(),
    command: 'worker',
    roles: ['worker'],
  })
}

function describeActive(file: string): string {
  const active = readHolder(file)
  return active ? describeHolder(active) : 'another process'
}

/** Standbys only watch for a change of the file time, not its value, since clocks may jump. */
function writeHeartbeat(file: string): void {
  const now = systemClock.now()
  try {
    utimesSync(file, now, now)
  } catch {
    // The file was removed by hand. The lock alone decides which worker is active.
  }
}

/** Returns a function that reads how long the active worker has sent no heartbeat; null while it sends them. */
function heartbeatReader(file: string, intervals: StandbyIntervals): () => { frozenForMs: number | null } {
  let stamp = 0
  let changedMs = performance.now()
  return () => {
    const now = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (now !== stamp) {
      stamp = now
      changedMs = performance.now()
    }
    const silentMs = performance.now() - changedMs
    return { frozenForMs: silentMs >= intervals.frozenAfterMs ? silentMs : null }
  }
}
