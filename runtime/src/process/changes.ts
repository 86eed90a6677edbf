import { closeSync, fstatSync, openSync, readSync, renameSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { ContainerName, WorkloadId } from '../driver.ts'
import { errorCode } from '../error-code.ts'

/** Read again from the start of a new file when the present one is longer than this. */
const MOST_BYTES = 1_000_000

const fileIn = (stateDir: string): string => join(stateDir, 'changes')

export type Change = [WorkloadId, ContainerName]

/**
 * Tells other processes which containers' endpoints may have changed: a file with a line for each, which they poll. It is only
 * a hint; what is true is in the wishes and records. A new file says that anything may have changed.
 */
export class ChangeWriter {
  readonly #file: string
  #descriptor: number | null = null
  #bytes = 0

  constructor(stateDir: string) {
    this.#file = fileIn(stateDir)
    this.#begin()
  }

  /** Never throws: on a full disk the hint is lost, and the next one that can be written starts a new file. */
  note(...change: Change): void {
    try {
      if (this.#descriptor === null || this.#bytes > MOST_BYTES) return this.#begin()
      const line = `${JSON.stringify(change)}\n`
      // A part of a line must not be taken for one: the rest of it may not fit.
      if (writeSync(this.#descriptor, line) < Buffer.byteLength(line)) this.close()
      this.#bytes += line.length
    } catch {
      this.close()
    }
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor)
    this.#descriptor = null
  }

  #begin(): void {
    this.close()
    this.#descriptor = openSync(`${this.#file}.new`, 'w', 0o600)
    this.#bytes = 0
    renameSync(`${this.#file}.new`, this.#file)
  }
}

export class ChangeReader {
  readonly #file: string
  /** Held open, so that no later file can have the same inode. */
  #open: { descriptor: number; inode: number } | null = null
  #offset = 0

  /** Begins at the end of the file: the caller knows nothing yet that could change. */
  constructor(stateDir: string) {
    this.#file = fileIn(stateDir)
    this.#openNewest()
    if (this.#open) this.#offset = fstatSync(this.#open.descriptor).size
  }

  /** Since the last call; `all`: anything may have changed. */
  read(): Change[] | 'all' {
    const inode = statSync(this.#file, { throwIfNoEntry: false })?.ino
    if (inode === undefined) return []
    if (inode === this.#open?.inode) return this.#readLines(this.#open.descriptor)
    this.#openNewest()
    return 'all'
  }

  close(): void {
    if (this.#open) closeSync(this.#open.descriptor)
    this.#open = null
  }

  #openNewest(): void {
    this.close()
    this.#offset = 0
    try {
      const descriptor = openSync(this.#file, 'r')
      this.#open = { descriptor, inode: fstatSync(descriptor).ino }
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error
    }
  }

  #readLines(descriptor: number): Change[] {
    const size = fstatSync(descriptor).size - this.#offset
    if (size <= 0) return []
    const buffer = Buffer.alloc(size)
    const text = buffer.toString('utf8', 0, readSync(descriptor, buffer, 0, size, this.#offset))
    const whole = text.slice(0, text.lastIndexOf('\n') + 1)
    this.#offset += Buffer.byteLength(whole)
    return whole.split('\n').filter(Boolean).map(parseChange)
  }
}

const parseChange = (line: string): Change => JSON.parse(line) as Change
