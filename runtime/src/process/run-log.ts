import { appendFileSync, closeSync, openSync, readSync } from 'node:fs'
import { OUT_OF_SPACE } from '../exit-message.ts'
import { LineSplitter, NEWLINE } from './lines.ts'
import { logEnd, readLogStart } from './log-start.ts'
import { KEPT_BYTES } from './log-tail.ts'

/** Size of the end of the log that is searched for V8’s error. */
const TAIL_BYTES = 8 * 1024

/** Adds a line break to the log of a run that ended without one. */
export function terminateLastLine(file: string): void {
  const { bytes } = readEnd(file, 1)
  if (bytes.length > 0 && bytes[0] !== NEWLINE) appendFileSync(file, '\n')
}

/** True when the run that started at the position `from` ended because the V8 heap was full, which happens before the memory limit. */
export function ranOutOfHeap(file: string, from: number): boolean {
  return readEnd(file, TAIL_BYTES, from).bytes.includes('JavaScript heap out of memory')
}

/** Returns the last lines of a log, oldest first, within the part that is always kept. */
export function lastLines(file: string, count: number): string[] {
  const { bytes, isWhole } = readEnd(file, KEPT_BYTES)
  // Skips an incomplete first line.
  const splitter = new LineSplitter(!isWhole)
  return [...splitter.push(bytes), ...splitter.flush()].slice(-count)
}

/** True when the end of the log of the run that started at the position `from` contains the error of a full disk. */
export function ranOutOfSpace(file: string, from: number): boolean {
  return OUT_OF_SPACE.test(readEnd(file, TAIL_BYTES, from).bytes.toString('utf8'))
}

/** Returns the last `maxBytes` of a log, after the position `from`. `isWhole`: true if these are all bytes of the log. */
function readEnd(file: string, maxBytes: number, from = 0): { bytes: Buffer; isWhole: boolean } {
  const { removedBytes, keptFrom } = readLogStart(file)
  const end = logEnd(file)
  const first = Math.max(from, keptFrom, end - maxBytes)
  const bytes = readRange(file, first - removedBytes, end - removedBytes)
  // The file was shortened in the meantime.
  if (readLogStart(file).removedBytes !== removedBytes) return readEnd(file, maxBytes, from)
  return { bytes, isWhole: first === 0 }
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
