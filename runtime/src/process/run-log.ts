import { appendFileSync, closeSync, openSync, readSync, statSync } from 'node:fs'
import { LineSplitter, NEWLINE } from './lines.ts'
import { KEPT_BYTES, readKeptFrom } from './log-tail.ts'

/** Part of the log that is searched for the error of V8. */
const TAIL_BYTES = 8 * 1024

/** 0 when nothing was written. */
export function logBytes(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/** Terminates the last line after the end of a run. */
export function sealLog(file: string): void {
  const bytes = logBytes(file)
  if (bytes > 0 && readRange(file, bytes - 1, bytes)[0] !== NEWLINE) appendFileSync(file, '\n')
}

/** True when the run that started at `fromByte` ended because the V8 heap was full, which happens before the memory limit. */
export function endedForHeap(file: string, fromByte: number): boolean {
  const bytes = logBytes(file)
  return readRange(file, Math.max(fromByte, bytes - TAIL_BYTES), bytes).includes('JavaScript heap out of memory')
}

/** The last lines of a log, oldest first, within the part that is always kept. */
export function lastLines(file: string, count: number): string[] {
  const bytes = logBytes(file)
  const from = Math.max(readKeptFrom(file), bytes - KEPT_BYTES)
  if (bytes <= from) return []
  // Skips an incomplete first line.
  const splitter = new LineSplitter(from > 0)
  return [...splitter.push(readRange(file, from, bytes)), ...splitter.flush()].slice(-count)
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
