import { closeSync, fstatSync, openSync, readSync, renameSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { ContainerName, WorkloadId } from '../driver.ts'
import { errorCode } from '../error-code.ts'

/** Size after which a new file is started. */
const MAX_BYTES = 1_000_000

const fileIn = (stateDir: string): string => join(stateDir, 'changes')

export type Change = [WorkloadId, ContainerName]

/**
 * Reports containers whose endpoints may have changed to other processes, which poll this file of one line per change. It is only
 * a hint; the truth is in the desired states and records. A new file means that anything may have changed.
 */
export class ChangeWriter {
  readonly #file: string
  #descriptor: number | null = null
  #bytes = 0

  constructor(stateDir: string) {
    this.#file = fileIn(stateDir)
    this.#startFile()
  }

  /** Never throws: with a full disk the hint is lost, and the next successful write starts a new file. */
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

export class ChangeReader {
  readonly #file: string
  /** Kept open, so that no later file can get the same inode. */
  #open: { descriptor: number; inode: number } | null = null
  #offset = 0

  /** Starts at the end of the file, since the caller has no state that could be outdated. */
  constructor(stateDir: string) {
    this.#file = fileIn(stateDir)
    this.#openNewest()
    if (this.#open) this.#offset = fstatSync(this.#open.descriptor).size
  }

  /** Changes since the last call; `all`: anything may have changed. */
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
