import { createHash } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readAllJson, readJson, writeJson } from './layers/layer-records.ts'

/** An image in the registry, and the stored image of the host from which it was made. */
export type PushedRecord = { local: string; repository: string; digest: string; pushedAtMs: number }

/** Remembers what was pushed, by the name of the stored image: `<dir>/<hash of the name>.json`. */
export class PushedImages {
  readonly #dir: string

  private constructor(dir: string) {
    this.#dir = dir
  }

  static async open(dir: string): Promise<PushedImages> {
    await mkdir(dir, { recursive: true, mode: 0o700 })
    return new PushedImages(dir)
  }

  async find(local: string): Promise<PushedRecord | null> {
    return await readJson<PushedRecord>(this.#file(local))
  }

  async list(): Promise<PushedRecord[]> {
    return await readAllJson<PushedRecord>(this.#dir)
  }

  async remember(record: PushedRecord): Promise<void> {
    await writeJson(this.#file(record.local), record)
  }

  async forget(local: string): Promise<void> {
    await rm(this.#file(local), { force: true })
  }

  #file(local: string): string {
    return join(this.#dir, `${createHash('sha256').update(local).digest('hex')}.json`)
  }
}
