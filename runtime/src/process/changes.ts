import { closeSync, fstatSync, openSync, readSync, renameSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { ContainerName, WorkloadId } from '../driver.ts'
import { errorCode } from '../error-code.ts'

/** The writer starts a new file when the current one exceeds this size. */
const MAX_BYTES = 1_000_000

const changesFile = (stateDir: string): string => join(stateDir, 'changes')

export type Change = [WorkloadId, ContainerName]

/**
 * Reports containers whose endpoints may have changed, in a file with one line per change. Other processes poll the file. A line is
 * only a hint: readers then check the desired states and records. A new file means that any endpoint may have changed.
 */
export class ChangeWriter {
  readonly #file: string
  #descriptor: number | null = null
  #bytes = 0

  constructor(stateDir: string) {
    this.#file = changesFile(stateDir)
    this.#startFile()
  }

  /** Never throws: when the disk is full, the hint is lost, and the next successful write starts a new file. */
  add(...change: Change): void {
    try {
      if (this.#descriptor === null || this.#bytes > MAX_BYTES) return this.#startFile()
      const line = `${JSON.stringify(change)}\n`
      // After a partial write, start a new file, so that readers never parse an incomplete line.
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

  #startFile(): void {
    this.close()
    this.#descriptor = openSync(`${this.#file}.new`, 'w', 0o600)
    this.#bytes = 0
    renameSync(`${this.#file}.new`, this.#file)
  }
}

/** Reads the changes that a `ChangeWriter` of another process reports. */
export class ChangeReader {
  readonly #file: string
  /** Kept open, so that the kernel does not reuse the inode for a later file. */
  #current: { descriptor: number; inode: number } | null = null
  #offset = 0

  /** Starts at the end of the file, since a new reader has no state that could be outdated. */
  constructor(stateDir: string) {
    this.#file = changesFile(stateDir)
    this.#openNewest()
    if (this.#current) this.#offset = fstatSync(this.#current.descriptor).size
  }

  /** Returns the changes since the last call; `all` means that any endpoint may have changed. */
  read(): Change[] | 'all' {
    const inode = statSync(this.#file, { throwIfNoEntry: false })?.ino
    if (inode === undefined) return []
    if (inode === this.#current?.inode) return this.#readLines(this.#current.descriptor)
    this.#openNewest()
    return 'all'
  }

  close(): void {
    if (this.#current) closeSync(this.#current.descriptor)
    this.#current = null
  }

  #openNewest(): void {
    this.close()
    this.#offset = 0
    try {
      const descriptor = openSync(this.#file, 'r')
      this.#current = { descriptor, inode: fstatSync(descriptor).ino }
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error
    }
  }

  #readLines(descriptor: number): Change[] {
    const size = fstatSync(descriptor).size - this.#offset
    if (size <= 0) return []
    const buffer = Buffer.alloc(size)
    const text = buffer.toString('utf8', 0, readSync(descriptor, buffer, 0, size, this.#offset))
    const completeLines = text.slice(0, text.lastIndexOf('\n') + 1)
    this.#offset += Buffer.byteLength(completeLines)
    return completeLines.split('\n').filter(Boolean).map(parseChange)
  }
}

const parseChange = (line: string): Change => JSON.parse(line) as Change
