import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** One JSON file per open network in a directory of the installation, by which a later server finds the networks of running programs. */
export class NetworkRecords<NetworkRecord extends object> {
  readonly #dir: string

  constructor(stateDir: string) {
    this.#dir = join(stateDir, 'networks')
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
  }

  /** Returns null for an unknown network, and for a record that was only partially written. */
  get(id: string): NetworkRecord | null {
    try {
      return JSON.parse(readFileSync(join(this.#dir, id), 'utf8'))
    } catch {
      return null
    }
  }

  set(id: string, record: NetworkRecord): void {
    writeFileSync(join(this.#dir, id), JSON.stringify(record), { mode: 0o600 })
  }

  delete(id: string): void {
    rmSync(join(this.#dir, id), { force: true })
  }

  ids(): string[] {
    return readdirSync(this.#dir)
  }
}
