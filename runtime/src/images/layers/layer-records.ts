import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../../error-code.ts'
import type { PackedLayer } from './pack-layer.ts'

/** Must be increased when the same key would result in a different layer. */
const FORMAT = 1
/** A record that was not used for so long is deleted. Its layer is then packed again. */
const UNUSED_MS = 90 * 24 * 60 * 60 * 1000

/**
 * Remembers the digests of layers by what determines their content, so that a layer that the registry has is not packed again.
 *
 *   <dir>/records/<hash of the key>.json   digest, size and diff id
 *   <dir>/temporary/<id>                   layers that are being written or pushed
 */
export class LayerRecords {
  readonly #dir: string

  private constructor(dir: string) {
    this.#dir = dir
  }

  /** Creates the folders, and removes old records and what a killed process left. No other process may use `dir`. */
  static async open(dir: string): Promise<LayerRecords> {
    await rm(join(dir, 'temporary'), { recursive: true, force: true })
    for (const name of ['records', 'temporary']) await mkdir(join(dir, name), { recursive: true, mode: 0o700 })
    for (const name of await readdir(join(dir, 'records'))) {
      const file = join(dir, 'records', name)
      if (Date.now() - (await stat(file)).mtimeMs > UNUSED_MS) await rm(file, { force: true })
    }
    return new LayerRecords(dir)
  }

  async find(key: string): Promise<PackedLayer | null> {
    const known = await readJson<PackedLayer>(this.#recordFile(key))
    const now = new Date()
    if (known !== null) await utimes(this.#recordFile(key), now, now)
    return known
  }

  async remember(key: string, layer: PackedLayer): Promise<void> {
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

/** Returns null if the file does not exist, or is incomplete. */
export async function readJson<T>(file: string): Promise<T | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || error instanceof SyntaxError) return null
    throw error
  }
}

/** Replaces the file atomically. */
export async function writeJson(file: string, value: unknown): Promise<void> {
  const unfinished = `${file}.${randomUUID()}`
  await writeFile(unfinished, JSON.stringify(value), { mode: 0o600 })
  await rename(unfinished, file)
}

/** Lists the contents of all complete files written by `writeJson` in a folder. */
export async function readAllJson<T>(dir: string): Promise<T[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.json'))
  const values = await Promise.all(names.map((name) => readJson<T>(join(dir, name))))
  return values.filter((value) => value !== null)
}
