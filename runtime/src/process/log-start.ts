import { execFile, type ExecFileException } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, openSync, readFileSync, readSync, statSync, truncateSync, writeSync } from 'node:fs'
import { promisify } from 'node:util'
import { replaceFile } from './replace-file.ts'
import { PLAIN_ENV } from './sandbox.ts'

/**
 * Where the kept part of a log begins. A log has three parts: *removed* bytes are no longer in the file, because the size of a file that a
 * program writes is limited (RLIMIT_FSIZE); *freed* bytes are a hole at the beginning of the file; *kept* bytes can be read. A position
 * counts all bytes that programs have ever written to the log.
 */
export type LogStart = {
  /** Position of the first byte of the file. */
  removedBytes: number
  /** Position of the first byte that was not freed. */
  keptFrom: number
}

/** The size of every removal is a multiple of this, which is itself a multiple of the block size of every file system. */
const UNIT_BYTES = 1024 * 1024
const MARK_BYTES = 16

/**
 * The content of the file next to a log. `removal`: a removal that was begun, with the `removedBytes` after it. It is complete if the log
 * no longer begins with `mark`.
 */
type StartFile = LogStart & { removal?: { removedBytes: number; mark: string } }

/** Returns the path of the file that contains the `LogStart` of a log. It is next to the log. */
export const logStartFile = (logFile: string): string => `${logFile}.kept-from`

/** Returns the size of a log file; 0 when it does not exist yet. */
export function logFileBytes(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/** Returns the position at which the next byte of a log will be written. */
export const logEnd = (file: string): number => readLogStart(file).removedBytes + logFileBytes(file)

/** Returns where the kept part of a log begins; position 0 if nothing was freed or removed. */
export function readLogStart(logFile: string): LogStart {
  const { removedBytes, keptFrom, removal } = readStartFile(logFile)
  if (!removal || readMark(logFile) === removal.mark) return { removedBytes, keptFrom }
  return { removedBytes: removal.removedBytes, keptFrom: Math.max(keptFrom, removal.removedBytes) }
}

function readStartFile(logFile: string): StartFile {
  try {
    const value = JSON.parse(readFileSync(logStartFile(logFile), 'utf8')) as StartFile | number
    // Earlier releases stored only `keptFrom`.
    return typeof value === 'number' ? { removedBytes: 0, keptFrom: value } : value
  } catch {
    return { removedBytes: 0, keptFrom: 0 }
  }
}

function writeStartFile(logFile: string, start: StartFile): void {
  replaceFile(logStartFile(logFile), JSON.stringify(start))
}

/**
 * Turns the bytes before the position `until` into a hole. The size of the file does not change. `logFile` returns the current path, since
 * the file is moved when its container is removed. Resolves with the new start, even if the file system does not support holes: the space
 * is then freed when the log is removed.
 */
export async function freeLog(logFile: () => string, start: LogStart, until: number): Promise<LogStart> {
  const freed = { ...start, keptFrom: until }
  // Written before the hole is made, so that readers that start at the beginning of the log skip the hole.
  writeStartFile(logFile(), freed)
  await fallocate(logFile(), '--punch-hole', until - start.removedBytes)
  return freed
}

/**
 * Removes bytes before the position `until` from the file, while programs write to it. The bytes before `until` must have
 * been freed. Resolves with the new start; null if the file system cannot do that (ext4 and XFS can).
 * @throws if it could not be tried
 */
export async function shortenLog(logFile: () => string, start: LogStart, until: number): Promise<LogStart | null> {
  const bytes = Math.floor((until - start.removedBytes) / UNIT_BYTES) * UNIT_BYTES
  const mark = randomBytes(MARK_BYTES)
  const removal = { removedBytes: start.removedBytes + bytes, mark: mark.toString('hex') }
  // Lets the next server detect whether the bytes were removed, should this process be killed.
  writeMark(logFile(), mark)
  writeStartFile(logFile(), { ...start, removal })
  await fallocate(logFile(), '--collapse-range', bytes)
  const shortened = readLogStart(logFile())
  writeStartFile(logFile(), shortened)
  return shortened.removedBytes > start.removedBytes ? shortened : null
}

/** Removes all bytes from the file, whose end is at the position `end`. Returns the new start. */
export function emptyLog(logFile: string, end: number): LogStart {
  truncateSync(logFile, 0)
  const start = { removedBytes: end, keptFrom: end }
  writeStartFile(logFile, start)
  return start
}

/**
 * Frees or removes the first bytes of a file with fallocate(1). Ignores that fallocate fails or is not installed: `readLogStart` detects
 * whether bytes were removed.
 * @throws if fallocate could not be started or was killed, which may succeed later
 */
async function fallocate(
  logFile: string,
  operation: '--punch-hole' | '--collapse-range',
  bytes: number,
): Promise<void> {
  const args = [operation, '--offset', '0', '--length', String(bytes), logFile]
  await promisify(execFile)('fallocate', args, { env: PLAIN_ENV }).catch((error: ExecFileException) => {
    if (typeof error.code !== 'number' && error.code !== 'ENOENT') throw error
  })
}

/** Returns the first bytes of a log in hexadecimal; an empty string if the log does not exist. */
function readMark(logFile: string): string {
  if (!existsSync(logFile)) return ''
  const mark = Buffer.alloc(MARK_BYTES)
  const descriptor = openSync(logFile, 'r')
  try {
    return mark.subarray(0, readSync(descriptor, mark, 0, MARK_BYTES, 0)).toString('hex')
  } finally {
    closeSync(descriptor)
  }
}

function writeMark(logFile: string, mark: Buffer): void {
  const descriptor = openSync(logFile, 'r+')
  try {
    writeSync(descriptor, mark, 0, MARK_BYTES, 0)
  } finally {
    closeSync(descriptor)
  }
}
