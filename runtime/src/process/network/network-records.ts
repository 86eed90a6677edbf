import { mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { TEMPORARY_SUFFIX, replaceFile } from '../replace-file.ts'

/** One JSON file per open network in a directory of the installation, by which a later server finds the networks of running programs. */
export class NetworkRecords<NetworkRecord extends object> {
  readonly #dir: string

  constructor(stateDir: string) {
    this.#dir = join(stateDir, 'networks')
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
  }

  /** Returns null for an unknown network, and for a damaged record. */
  get(id: string): NetworkRecord | null {
    try {
      return JSON.parse(readFileSync(join(this.#dir, id), 'utf8'))
    } catch {
      return null
    }
  }

  /** Replaces a record. An error, such as a full disk, leaves the earlier record: without it, the next server would remove the network. */
  set(id: string, record: NetworkRecord): void {
    replaceFile(join(this.#dir, id), JSON.stringify(record))
  }

  delete(id: string): void {
    rmSync(join(this.#dir, id), { force: true })
  }

  ids(): string[] {
    return readdirSync(this.#dir).filter((name) => !name.endsWith(TEMPORARY_SUFFIX))
  }
}
