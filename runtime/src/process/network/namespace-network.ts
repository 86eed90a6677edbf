import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { KeyedMutex } from '../../concurrency.ts'
import type { HostLimitation } from '../../driver.ts'
import { shortHash } from '../short-hash.ts'
import type { Policies } from './addresses.ts'
import {
  CONNECTION_LIMITS,
  type ConnectionLimits,
  findSupportedLimits,
  limitRules,
  limitedTargets,
} from './connection-limits.ts'
import { findBlockingFirewall } from './firewall-check.ts'
import { HostRules } from './host-rules.ts'
import { INTERFACES, NAMESPACES, creationScript, namespaceOf, namespacesOf, removalScript } from './namespaces.ts'
import { NetworkRecords } from './network-records.ts'
import type { Network, NetworkOptions, NetworkUse } from './network.ts'
import { type Block, MAX_NETWORKS, USES, blockOf, hostRules, innerRules } from './rules.ts'
import { runProgram, runScript } from './run-script.ts'
import { SpareNetworks } from './spare-networks.ts'

/**
 * A network. `namespace`: the name of its namespace. `index`: the number of its address and interface. `rules`: the rules inside it.
 * `limitedConnections`: see `Workload`.
 */
type CreatedNetwork = {
  namespace: string
  index: number
  use: NetworkUse
  rules: string
  limitedConnections?: number | undefined
}

/**
 * Gives each workload and build a network namespace, connected to the host by a pair of interfaces. Rules of the host decide what
 * it can reach. The kernel keeps namespaces and rules when the server ends.
 */
export class NamespaceNetwork implements Network {
  readonly kind = 'namespace'
  /** A sentence for operators; null if there is no limitation. */
  limitation: HostLimitation | null = null
  readonly #label: string
  readonly #block: Block
  readonly #mutex = new KeyedMutex()
  readonly #rules: HostRules
  readonly #records: NetworkRecords<CreatedNetwork>
  readonly #spares = new SpareNetworks((use) => this.#create(use))
  /** The namespaces that this process has created and not removed. */
  readonly #ownNamespaces = new Set<string>()
  /** Ids of the networks that this process has opened. */
  readonly #opened = new Set<string>()
  readonly #reservedIndexes = new Set<number>()
  readonly #requestedLimits: ConnectionLimits
  /** The limits in use; null if the kernel does not support the requested ones, and until that is checked. */
  #limits: ConnectionLimits | null = null

  private constructor({ stateDir, label, number, targets, watchMs, connections }: NetworkOptions) {
    this.#requestedLimits = connections ?? CONNECTION_LIMITS
    this.#label = label
    const block = blockOf(number)
    this.#block = block
    this.#records = new NetworkRecords(stateDir)
    this.#rules = new HostRules({
      table: block.table,
      targets,
      watchMs,
      script: (policies) => hostRules(block, policies),
    })
  }

  /**
   * Checks that the host supports networks, by creating one and sending packets from it.
   * @throws Error when the host does not support them
   */
  static async open(options: NetworkOptions): Promise<NamespaceNetwork> {
    const network = new NamespaceNetwork(options)
    try {
      await network.#probe()
    } finally {
      await network.#removeRulesIfUnused()
    }
    return network
  }

  async #probe(): Promise<void> {
    const probe = await this.#create('squid')
    try {
      const { squid } = await this.#rules.apply()
      const { limits, limitation } = await findSupportedLimits(this.#requestedLimits, (rules) =>
        loadRules(probe, rules),
      )
      this.#limits = limits
      const firewall = await findBlockingFirewall({
        address: this.#block.addressOf(probe.index),
        prefix: prefixOf(probe),
        service: squid.loopback[0]?.port ?? null,
        table: `${this.#block.table}-probe`,
      })
      this.limitation = [firewall, limitation].filter((text) => text !== null).join(' ') || null
    } finally {
      await this.#remove(probe)
    }
  }

  async open(
    name: string,
    use: NetworkUse,
    _uid: number | null = null,
    limitedConnections?: number,
  ): Promise<string[]> {
    const id = shortHash(name)
    this.#opened.add(id)
    const opened = await this.#mutex.run(id, async () => {
      const record = this.#existing(id) ?? (await this.#createOrTakeSpare(use, limitedConnections))
      this.#records.set(id, record)
      return record
    })
    return prefixOf(opened)
  }

  async close(name: string): Promise<void> {
    const id = shortHash(name)
    await this.#mutex.run(id, async () => {
      const record = this.#existing(id)
      this.#records.delete(id)
      if (record) await this.#remove(record)
    })
    this.#opened.delete(id)
    await this.#removeRulesIfUnused()
  }

  async adopt(names: string[]): Promise<void> {
    const keptIds = new Set([...names.map(shortHash), ...this.#opened])
    const kept = new Map<string, CreatedNetwork>()
    for (const id of this.#records.ids()) {
      const record = keptIds.has(id) ? this.#existing(id) : null
      if (record) kept.set(id, record)
      else this.#records.delete(id)
    }
    const namespaces = new Set([...Array.from(kept.values(), ({ namespace }) => namespace), ...this.#ownNamespaces])
    for (const namespace of namespacesOf(this.#label))
      if (!namespaces.has(namespace)) await runScript(removalScript([namespace]))
    const policies = await this.#rules.apply()
    for (const [id, record] of kept) this.#records.set(id, await this.#updateRules(record, policies))
    this.#spares.start(USES)
  }

  async detach(): Promise<void> {
    for (const spare of await this.#spares.close()) await this.#remove(spare)
    this.#rules.detach()
    await this.#removeRulesIfUnused()
  }

  async #removeRulesIfUnused(): Promise<void> {
    if (this.#opened.size === 0 && namespacesOf(this.#label).length === 0) await this.#rules.remove()
  }

  async #createOrTakeSpare(use: NetworkUse, limitedConnections: number | undefined): Promise<CreatedNetwork> {
    const policies = await this.#rules.apply()
    const spare = await this.#spares.take(use)
    if (!spare || !existsSync(pathOf(spare))) return await this.#create(use, limitedConnections)
    return await this.#updateRules({ ...spare, limitedConnections }, policies)
  }

  async #create(use: NetworkUse, limitedConnections?: number): Promise<CreatedNetwork> {
    const policies = await this.#rules.apply()
    enableForwarding()
    const index = this.#freeIndex()
    // Random, because a record from before a restart of the host may still contain the name of a removed network.
    const namespace = namespaceOf(this.#label, randomBytes(5).toString('hex'))
    const rules = this.#innerRules({ index, use, limitedConnections }, policies)
    const created = { namespace, index, use, rules, limitedConnections }
    this.#reservedIndexes.add(index)
    this.#ownNamespaces.add(namespace)
    try {
      await runScript(creationScript({ ...created, block: this.#block }))
      return created
    } catch (error) {
      await this.#remove(created).catch(() => undefined)
      throw error
    } finally {
      this.#reservedIndexes.delete(index)
    }
  }

  async #remove(created: CreatedNetwork): Promise<void> {
    if (existsSync(pathOf(created))) await runScript(removalScript([created.namespace]))
    this.#ownNamespaces.delete(created.namespace)
  }

  /** Applies the current rules to a network that was created with other rules, and returns the network with the current ones. */
  async #updateRules(created: CreatedNetwork, policies: Policies): Promise<CreatedNetwork> {
    const rules = this.#innerRules(created, policies)
    if (rules !== created.rules) await loadRules(created, rules)
    return { ...created, rules }
  }

  #innerRules(
    { index, use, limitedConnections }: Pick<CreatedNetwork, 'index' | 'use' | 'limitedConnections'>,
    policies: Policies,
  ): string {
    const limited = limitedTargets(policies[use], [this.#block.gateway], limitedConnections)
    return innerRules(this.#block, index, policies[use], policies) + limitRules(this.#limits, limited)
  }

  #freeIndex(): number {
    const names = new Set(readdirSync(INTERFACES))
    for (let index = 1; index <= MAX_NETWORKS; index++) {
      const isTaken = USES.some((use) => names.has(this.#block.interfaceOf(use, index)))
      if (!isTaken && !this.#reservedIndexes.has(index)) return index
    }
    throw new Error(`${MAX_NETWORKS} networks are in use, the maximum of one installation`)
  }

  /** Returns a recorded network; null if it no longer exists, for example after a restart of the host. */
  #existing(id: string): CreatedNetwork | null {
    const record = this.#records.get(id)
    // Records of earlier releases have no name, because the name was made from the id.
    const created = record && { ...record, namespace: record.namespace ?? namespaceOf(this.#label, id) }
    return created && existsSync(pathOf(created)) ? created : null
  }
}

const pathOf = ({ namespace }: CreatedNetwork) => join(NAMESPACES, namespace)
const prefixOf = (created: CreatedNetwork) => ['nsenter', `--net=${pathOf(created)}`]
const loadRules = (created: CreatedNetwork, rules: string) =>
  runProgram([...prefixOf(created), 'nft', '-f', '-'], rules)

/** Writes the setting only if needed: in a container, it may be read-only, and already enabled. */
function enableForwarding(): void {
  const file = '/proc/sys/net/ipv4/ip_forward'
  if (readFileSync(file, 'utf8').trim() !== '1') writeFileSync(file, '1')
}
