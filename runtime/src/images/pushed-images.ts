import { createHash } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readAllJson, writeJson } from './json-files.ts'

/** An image in the registry, and the image stored on this host (`local`) from which it was made. */
export type PushedRecord = { local: string; repository: string; digest: string; pushedAtMs: number }

/** Records the pushed images by the name of the stored image: `<dir>/<hash of the name>.json`. Only one process may use the folder. */
export class PushedImages {
  readonly #dir: string
  readonly #records: Map<string, PushedRecord>

  private constructor(dir: string, records: PushedRecord[]) {
    this.#dir = dir
    this.#records = new Map(records.map((record) => [record.local, record]))
  }

  static async open(dir: string): Promise<PushedImages> {
    await mkdir(dir, { recursive: true, mode: 0o700 })
    return new PushedImages(dir, await readAllJson<PushedRecord>(dir))
  }

  find(local: string): PushedRecord | null {
    return this.#records.get(local) ?? null
  }

  list(): PushedRecord[] {
    return [...this.#records.values()]
  }

  async save(record: PushedRecord): Promise<void> {
    await writeJson(this.#file(record.local), record)
    this.#records.set(record.local, record)
  }

  async delete(local: string): Promise<void> {
    await rm(this.#file(local), { force: true })
    this.#records.delete(local)
  }

  #file(local: string): string {
    return join(this.#dir, `${createHash('sha256').update(local).digest('hex')}.json`)
  }
}
