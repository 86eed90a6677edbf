import { findProcess, isSameProcess } from '@shoal/runtime'
import { chownSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'

/** A process that holds a lock of this installation, as recorded for messages to the operator. */
export type Holder = {
  pid: number
  /** Identifies the process together with the pid, which the kernel may reuse. */
  startedAt: string
  /** When the process acquired the lock, as an ISO date. */
  since: string
  /** The command that the operator ran. */
  command: string
  /** Empty for a short-lived command. */
  roles: string[]
}

/** Returns the directory of the locks of an installation and the records of their holders, creating it if needed. */
export function locksDir({ dataDir }: Pick<Config, 'dataDir'>): string {
  const dir = join(dataDir, locksDirName)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const { uid, gid } = statSync(dataDir)
  if (process.getuid?.() === 0 && uid !== 0) chownSync(dir, uid, gid)
  return dir
}

export const locksDirName = 'locks'

const recordFileOf = (dir: string, pid: number) => join(dir, `process-${pid}.json`)

/** Records this process, without secrets, and removes the records of processes that have ended. Returns a function that deletes the record. */
export function recordHolder(dir: string, clock: Clock, details: Pick<Holder, 'command' | 'roles'>): () => void {
  const { pid } = process
  liveHolders(dir)
  const holder: Holder = {
    pid,
    startedAt: findProcess(pid)?.startedAt ?? '',
    since: clock.now().toISOString(),
    ...details,
  }
  writeHolder(recordFileOf(dir, pid), holder)
  return () => rmSync(recordFileOf(dir, pid), { force: true })
}

/** Writes atomically, since other processes may read the file at any time. */
export function writeHolder(file: string, holder: Holder): void {
  writeFileSync(`${file}.${process.pid}.new`, JSON.stringify(holder), { mode: 0o600 })
  renameSync(`${file}.${process.pid}.new`, file)
}

/** Returns the holders that still run, oldest first, and removes the records of the others. */
export function liveHolders(dir: string): Holder[] {
  const names = readdirSync(dir).filter((name) => name.startsWith('process-') && name.endsWith('.json'))
  const live = names.flatMap((name) => {
    const holder = readHolder(join(dir, name))
    if (holder) return [holder]
    rmSync(join(dir, name), { force: true })
    return []
  })
  return live.toSorted((one, other) => one.since.localeCompare(other.since))
}

/** Reads a record; null if its process no longer exists, or the record is damaged. */
export function readHolder(file: string): Holder | null {
  try {
    const holder = JSON.parse(readFileSync(file, 'utf8')) as Holder
    return isSameProcess(holder.pid, holder.startedAt) ? holder : null
  } catch {
    return null
  }
}

/** Returns a description such as `process 123 (npm start) since 2026-11-22 10:00:00 UTC`. */
export const describeHolder = ({ pid, command, since }: Holder): string =>
  `process ${pid} (${command}) since ${since.slice(0, 19).replace('T', ' ')} UTC`
