import { appendFileSync, closeSync, openSync, readSync, statSync } from 'node:fs'
import { OUT_OF_SPACE } from '../exit-message.ts'
import { LineSplitter, NEWLINE } from './lines.ts'
import { KEPT_BYTES, readKeptOffset } from './log-tail.ts'

/** Size of the end of the log that is searched for V8’s error. */
const TAIL_BYTES = 8 * 1024

/** Returns the size of a log; 0 when it does not exist yet. */
export function logBytes(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/** Terminates the last line after the end of a run. */
export function sealLog(file: string): void {
  const bytes = logBytes(file)
  if (bytes > 0 && readRange(file, bytes - 1, bytes)[0] !== NEWLINE) appendFileSync(file, '\n')
}

/** True when the run that started at `fromByte` ended because the V8 heap was full, which happens before the memory limit. */
export function ranOutOfHeap(file: string, fromByte: number): boolean {
  const bytes = logBytes(file)
  return readRange(file, Math.max(fromByte, bytes - TAIL_BYTES), bytes).includes('JavaScript heap out of memory')
}

/** Returns the last lines of a log, oldest first, within the part that is always kept. */
export function lastLines(file: string, count: number): string[] {
  const bytes = logBytes(file)
  const from = Math.max(readKeptOffset(file), bytes - KEPT_BYTES)
  if (bytes <= from) return []
  // Skips an incomplete first line.
  const splitter = new LineSplitter(from > 0)
  return [...splitter.push(readRange(file, from, bytes)), ...splitter.flush()].slice(-count)
}

/** True when the end of the log of the run that started at `fromByte` contains the error of a full disk. */
export function ranOutOfSpace(file: string, fromByte: number): boolean {
  const bytes = logBytes(file)
  const end = readRange(file, Math.max(fromByte, bytes - TAIL_BYTES), bytes).toString('utf8')
  return OUT_OF_SPACE.test(end)
}

function readRange(file: string, from: number, to: number): Buffer {
  if (to <= from) return Buffer.alloc(0)
  const buffer = Buffer.alloc(to - from)
  const descriptor = openSync(file, 'r')
  try {
    return buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, from))
  } finally {
    closeSync(descriptor)
  }
}
