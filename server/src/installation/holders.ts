import { findProcess, isSameProcess } from '@shoal/runtime'
import { chownSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'

/** A process of this installation, as it describes itself to those that come later. */
export type Holder = {
  pid: number
  /** With the pid it names the process for ever. */
  startedAt: string
  /** When it took the lock, as an ISO date. */
  since: string
  /** What the operator ran. */
  command: string
  /** Empty for a command that ends by itself. */
  roles: string[]
}

/** Where the locks of an installation are, and the names of those who hold them; made when missing. */
export function locksDir({ dataDir }: Pick<Config, 'dataDir'>): string {
  const dir = join(dataDir, locksDirName)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const { uid, gid } = statSync(dataDir)
  if (process.getuid?.() === 0 && uid !== 0) chownSync(dir, uid, gid)
  return dir
}

export const locksDirName = 'locks'

const fileOf = (dir: string, pid: number) => join(dir, `process-${pid}.json`)

/** Notes this process, and removes the notes of those that were killed. It holds no password. Answers how to take the note back. */
export function recordHolder(dir: string, clock: Clock, about: Pick<Holder, 'command' | 'roles'>): () => void {
  const { pid } = process
  liveHolders(dir)
  const holder: Holder = {
    pid,
    startedAt: findProcess(pid)?.startedAt ?? '',
    since: clock.now().toISOString(),
    ...about,
  }
  writeHolder(fileOf(dir, pid), holder)
  return () => rmSync(fileOf(dir, pid), { force: true })
}

/** Whole or not at all: others read it at any time. */
export function writeHolder(file: string, holder: Holder): void {
  writeFileSync(`${file}.${process.pid}.new`, JSON.stringify(holder), { mode: 0o600 })
  renameSync(`${file}.${process.pid}.new`, file)
}

/** The processes that live, oldest first. The notes of those that were killed are removed. */
export function liveHolders(dir: string): Holder[] {
  const names = readdirSync(dir).filter((name) => name.startsWith('process-') && name.endsWith('.json'))
  const living = names.flatMap((name) => {
    const holder = readHolder(join(dir, name))
    if (holder) return [holder]
    rmSync(join(dir, name), { force: true })
    return []
  })
  return living.toSorted((one, other) => one.since.localeCompare(other.since))
}

/** Null when the process is gone, or the note is damaged. */
export function readHolder(file: string): Holder | null {
  try {
    const holder = JSON.parse(readFileSync(file, 'utf8')) as Holder
    return isSameProcess(holder.pid, holder.startedAt) ? holder : null
  } catch {
    return null
  }
}

/** Such as `process 123 (npm start) since 2026-11-22 10:00:00 UTC`. */
export const describeHolder = ({ pid, command, since }: Holder): string =>
  `process ${pid} (${command}) since ${since.slice(0, 19).replace('T', ' ')} UTC`
