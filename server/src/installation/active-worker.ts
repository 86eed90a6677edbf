import { findProcess, tryFileLock, type FileLock } from '@shoal/runtime'
import { statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { describeHolder, locksDir, readHolder, writeHolder } from './holders.ts'

export type WorkerState =
  | { is: 'active' }
  /** `frozenForMs`: how long the active worker has not shown that it lives; null while it does. */
  | { is: 'standby'; activeIs: string; frozenForMs: number | null }

export type WorkerHandle = {
  state: () => WorkerState
  close: () => Promise<void>
}

export type StandbyIntervals = { retryMs: number; heartbeatMs: number; frozenAfterMs: number }

/** A standby takes over within 5 s, and tells of a frozen active worker within 15 s. */
const defaultIntervals: StandbyIntervals = { retryMs: 500, heartbeatMs: 2_000, frozenAfterMs: 10_000 }

export type WorkerOptions = {
  config: Pick<Config, 'dataDir'>
  log: Logger
  /** Begins to work; answers how to end it. Nothing of the data directory may be changed by a worker before. */
  startWork: () => Promise<() => Promise<void>>
  /** A standby could not take over: the process has to end. */
  onFailure: (error: unknown) => void
  intervals?: StandbyIntervals
}

/**
 * Works in one process at a time of those that share the data directory: two would start every squid twice. The others stand by,
 * and one of them takes over when the active process ends, however that happens. A frozen one is not replaced, since it may go
 * on at any time.
 * @returns when this process works or stands by. @throws what `work` throws when it is called at once
 */
export async function runActiveOrStandby(options: WorkerOptions): Promise<WorkerHandle> {
  const { log, startWork: work, onFailure: failed, intervals: pace = defaultIntervals } = options
  const dir = locksDir(options.config)
  const lockFile = join(dir, 'worker.lock')
  const activeFile = join(dir, 'worker.json')
  const watch = watchHeartbeat(activeFile, pace)
  let state: WorkerState = { is: 'active' }
  let timer: NodeJS.Timeout | undefined
  let end = () => Promise.resolve()
  let starting: Promise<void> = Promise.resolve()

  const begin = async (lock: FileLock) => {
    state = { is: 'active' }
    writeActive(activeFile)
    const beating = setInterval(() => beat(activeFile), pace.heartbeatMs)
    try {
      const stop = await work()
      end = async () => {
        clearInterval(beating)
        await stop()
        lock.release()
      }
    } catch (error) {
      clearInterval(beating)
      lock.release()
      throw error
    }
  }

  const standBy = () => {
    const now: WorkerState = { is: 'standby', activeIs: activeOf(activeFile), ...watch() }
    const before = state
    state = now
    if (before.is === 'active') log.info(`This worker stands by; the active one is ${now.activeIs}.`)
    const [wasFrozen, isFrozen] = [before.is === 'standby' && before.frozenForMs !== null, now.frozenForMs !== null]
    if (isFrozen && !wasFrozen)
      log.error(
        `The active worker, ${now.activeIs}, has not responded for ${Math.round((now.frozenForMs ?? 0) / 1000)} s. It is not replaced, as it may go on at any time: resume or end it.`,
      )
    if (wasFrozen && !isFrozen) log.info(`The active worker, ${now.activeIs}, responds again.`)
    timer = setTimeout(tryAgain, pace.retryMs)
  }

  const tryAgain = () => {
    const lock = tryFileLock(lockFile, 'exclusive')
    if (!lock) return standBy()
    log.warn('The active worker has ended: this one takes over.')
    starting = begin(lock).catch(failed)
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

function activeOf(file: string): string {
  const active = readHolder(file)
  return active ? describeHolder(active) : 'another process'
}

/** Only the change counts, not the time that is written: clocks may jump. */
function beat(file: string): void {
  const now = systemClock.now()
  try {
    utimesSync(file, now, now)
  } catch {
    // It was removed by hand; the lock alone decides who works.
  }
}

function watchHeartbeat(file: string, pace: StandbyIntervals): () => { frozenForMs: number | null } {
  let stamp = 0
  let changedMs = performance.now()
  return () => {
    const now = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (now !== stamp) {
      stamp = now
      changedMs = performance.now()
    }
    const silentMs = performance.now() - changedMs
    return { frozenForMs: silentMs >= pace.frozenAfterMs ? silentMs : null }
  }
}
