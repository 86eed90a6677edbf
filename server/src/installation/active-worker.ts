import { findProcess, tryFileLock, type FileLock } from '@shoal/runtime'
import { statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { describeHolder, locksDir, readHolder, writeHolder } from './holders.ts'

export type WorkerState =
  | { role: 'active' }
  /** `frozenForMs`: the time since the last heartbeat of the active worker; null while the heartbeat is recent. */
  | { role: 'standby'; activeWorker: string; frozenForMs: number | null }

export type WorkerHandle = {
  state: () => WorkerState
  close: () => Promise<void>
}

export type StandbyIntervals = { retryMs: number; heartbeatMs: number; frozenAfterMs: number }

/** With these intervals, a standby becomes active within 5 s and reports a frozen active worker within 15 s. */
const defaultIntervals: StandbyIntervals = { retryMs: 500, heartbeatMs: 2_000, frozenAfterMs: 10_000 }

export type WorkerOptions = {
  config: Pick<Config, 'dataDir'>
  log: Logger
  /** Starts the worker and returns a function that stops it. A worker must not change the data directory before this is called. */
  startWork: () => Promise<() => Promise<void>>
  /** Called if a standby could not become active; the process then has to exit. */
  onFailure: (error: unknown) => void
  intervals?: StandbyIntervals
}

/**
 * Runs the worker in only one of the processes that share the data directory, since two would start every squid twice. The others are
 * on standby; one of them becomes active when the active process ends for any reason. A frozen process is not replaced, since it may
 * resume at any time. Resolves when this process is active or on standby.
 * @throws any error of `startWork`, if this process becomes active immediately
 */
export async function runActiveOrStandby(options: WorkerOptions): Promise<WorkerHandle> {
  const { log, startWork, onFailure, intervals = defaultIntervals } = options
  const dir = locksDir(options.config)
  const lockFile = join(dir, 'worker.lock')
  const activeFile = join(dir, 'worker.json')
  const readHeartbeat = createHeartbeatReader(activeFile, intervals)
  let state: WorkerState = { role: 'active' }
  let timer: NodeJS.Timeout | undefined
  let stopWork = () => Promise.resolve()
  let start: Promise<void> = Promise.resolve()

  const becomeActive = async (lock: FileLock) => {
    state = { role: 'active' }
    writeActive(activeFile)
    const heartbeat = setInterval(() => writeHeartbeat(activeFile), intervals.heartbeatMs)
    try {
      const stop = await startWork()
      stopWork = async () => {
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

  const becomeStandby = () => {
    const newState: WorkerState = { role: 'standby', activeWorker: describeActive(activeFile), ...readHeartbeat() }
    const previousState = state
    state = newState
    if (previousState.role === 'active')
      log.info(`This worker is on standby; the active worker is ${newState.activeWorker}.`)
    const [wasFrozen, isFrozen] = [
      previousState.role === 'standby' && previousState.frozenForMs !== null,
      newState.frozenForMs !== null,
    ]
    if (isFrozen && !wasFrozen)
      log.error(
        `The active worker, ${newState.activeWorker}, has not responded for ${Math.round((newState.frozenForMs ?? 0) / 1000)} s. It is not replaced, since it may resume at any time: resume or kill it.`,
      )
    if (wasFrozen && !isFrozen) log.info(`The active worker, ${newState.activeWorker}, responds again.`)
    timer = setTimeout(retry, intervals.retryMs)
  }

  const retry = () => {
    const lock = tryFileLock(lockFile, 'exclusive')
    if (!lock) return becomeStandby()
    log.warn('The active worker has ended: this worker becomes active.')
    start = becomeActive(lock).catch(onFailure)
  }

  const lock = tryFileLock(lockFile, 'exclusive')
  if (lock) await becomeActive(lock)
  else becomeStandby()
  return {
    state: () => state,
    close: async () => {
      clearTimeout(timer)
      await start
      await stopWork()
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

/** Standbys only detect that the file time has changed, and ignore its value, since clocks may jump. */
function writeHeartbeat(file: string): void {
  const now = systemClock.now()
  try {
    utimesSync(file, now, now)
  } catch {
    // The operator has removed the file. Only the lock decides which worker is active.
  }
}

/** Returns a function that reads how long the active worker has sent no heartbeat; null while the heartbeat is recent. */
function createHeartbeatReader(file: string, intervals: StandbyIntervals): () => { frozenForMs: number | null } {
  let lastModifiedMs = 0
  let changedMs = performance.now()
  return () => {
    const modifiedMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (modifiedMs !== lastModifiedMs) {
      lastModifiedMs = modifiedMs
      changedMs = performance.now()
    }
    const silentMs = performance.now() - changedMs
    return { frozenForMs: silentMs >= intervals.frozenAfterMs ? silentMs : null }
  }
}
