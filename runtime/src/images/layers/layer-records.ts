import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { readJson, writeJson } from '../json-files.ts'
import type { PackedLayer } from './pack-layer.ts'

/** Part of each record's name. Increase it when the same key would result in a different layer. */
const FORMAT = 1
/** Records that were not used for this long are deleted. Their layers are packed again when they are needed. */
const UNUSED_MS = 90 * 24 * 60 * 60 * 1000

/**
 * Records the digests of layers by a key that determines their content, so that a layer that the registry has is not packed again.
 *
 *   <dir>/records/<hash of the key>.json   digest, size and diff id
 *   <dir>/temporary/<id>                   layers that are being written or pushed
 */
export class LayerRecords {
  readonly #dir: string

  private constructor(dir: string) {
    this.#dir = dir
  }

  /** Creates the folders, and removes old records and the leftovers of a killed process. No other process may use `dir`. */
  static async open(dir: string): Promise<LayerRecords> {
    await rm(join(dir, 'temporary'), { recursive: true, force: true })
    for (const name of ['records', 'temporary']) await mkdir(join(dir, name), { recursive: true, mode: 0o700 })
    for (const name of await readdir(join(dir, 'records'))) {
      const file = join(dir, 'records', name)
      if (Date.now() - (await stat(file)).mtimeMs > UNUSED_MS) await rm(file, { force: true })
    }
    return new LayerRecords(dir)
  }

  /** Returns the record of a layer, and marks it as used; null if there is none. */
  async find(key: string): Promise<PackedLayer | null> {
    const record = await readJson<PackedLayer>(this.#recordFile(key))
    const now = new Date()
    if (record !== null) await utimes(this.#recordFile(key), now, now)
    return record
  }

  async save(key: string, layer: PackedLayer): Promise<void> {
    await writeJson(this.#recordFile(key), layer)
  }

  /** Passes the path of a new file to `work`, and deletes the file afterwards. */
  async withFile<T>(work: (file: string) => Promise<T>): Promise<T> {
    const file = join(this.#dir, 'temporary', randomUUID())
    try {
      return await work(file)
    } finally {
      await rm(file, { force: true })
    }
  }

  #recordFile(key: string): string {
    const name = createHash('sha256')
      .update(JSON.stringify([FORMAT, key]))
      .digest('hex')
    return join(this.#dir, 'records', `${name}.json`)
  }
}
