import { shortHash } from '../short-hash.ts'
import { HostRules } from './host-rules.ts'
import { NetworkRecords } from './network-records.ts'
import type { Network, NetworkOptions, NetworkUse } from './network.ts'
import { runProgram } from './run-script.ts'
import { type UidUse, uidRules, uidTableOf } from './uid-rules.ts'

/**
 * Restricts programs in the network of the host by rules for their uids, on hosts where network namespaces cannot be created. Programs
 * share the ports of the host, but cannot accept connections, nor connect to each other.
 */
export class UidNetwork implements Network {
  readonly kind = 'uids'
  readonly #records: NetworkRecords<UidUse>
  readonly #rules: HostRules
  /** Ids of the networks that this process has opened. */
  readonly #opened = new Set<string>()
  /** Whether the kernel can count connections. */
  #canLimit = true

  private constructor({ stateDir, number, targets, watchMs }: NetworkOptions) {
    this.#records = new NetworkRecords(stateDir)
    this.#rules = new HostRules({
      table: uidTableOf(number),
      targets,
      watchMs,
      script: (policies) => uidRules(number, this.#users(), policies),
    })
  }

  /**
   * Checks that the host supports the rules, by loading them, with limits of connections if the kernel supports them.
   * @throws Error when the host does not support them
   */
  static async open(options: NetworkOptions): Promise<UidNetwork> {
    const network = new UidNetwork(options)
    await network.#rules.apply()
    await network.detach()
    network.#canLimit = await canCountConnections(`${uidTableOf(options.number)}-probe`)
    return network
  }

  /** @throws Error when `uid` is null, because the program could not be distinguished from the server */
  async open(name: string, use: NetworkUse, uid: number | null, limitedConnections?: number): Promise<string[]> {
    if (uid === null) throw new Error('A program without its own uid cannot be restricted')
    const id = shortHash(name)
    this.#opened.add(id)
    this.#records.set(id, { uid, use, ...(limitedConnections === undefined ? {} : { limitedConnections }) })
    await this.#rules.apply()
    return []
  }

  async close(name: string): Promise<void> {
    const id = shortHash(name)
    this.#opened.delete(id)
    if (!this.#records.get(id)) return
    this.#records.delete(id)
    if (this.#users().length === 0) await this.#rules.remove()
    else await this.#rules.apply()
  }

  async adopt(names: string[]): Promise<void> {
    const keptIds = new Set([...names.map(shortHash), ...this.#opened])
    for (const id of this.#records.ids()) if (!keptIds.has(id)) this.#records.delete(id)
    if (this.#users().length > 0) await this.#rules.apply()
  }

  async detach(): Promise<void> {
    if (this.#users().length === 0) await this.#rules.remove()
    else this.#rules.detach()
  }

  #users(): UidUse[] {
    const records = this.#records.ids().map((id) => this.#records.get(id))
    // Records from a server that could create namespaces have no uid.
    const users = records.filter((record) => record?.uid !== undefined) as UidUse[]
    return this.#canLimit ? users : users.map(({ uid, use }) => ({ uid, use }))
  }
}

/** Whether the kernel can count connections. Loads and removes a table whose rules no packet reaches. */
const canCountConnections = (table: string): Promise<boolean> =>
  runProgram(
    ['nft', '-f', '-'],
    `table inet ${table} {\n chain unused {\n ct count over 1 drop\n }\n}\ndelete table inet ${table}\n`,
  ).then(
    () => true,
    () => false,
  )
