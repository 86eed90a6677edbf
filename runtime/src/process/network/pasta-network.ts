import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { KeyedMutex } from '../../concurrency.ts'
import type { HostLimitation } from '../../driver.ts'
import { shortHash } from '../short-hash.ts'
import { type Policies, resolvePolicies } from './addresses.ts'
import {
  CONNECTION_LIMITS,
  type ConnectionLimits,
  findSupportedLimits,
  limitRules,
  limitedTargets,
} from './connection-limits.ts'
import { NetworkRecords } from './network-records.ts'
import type { Network, NetworkOptions, NetworkUse } from './network.ts'
import {
  type NetworkProcesses,
  endNetworkProcesses,
  endOthers,
  isComplete,
  restartPasta,
  startNetworkProcesses,
} from './pasta-holder.ts'
import { checkPolicy, withProbeService } from './pasta-probe.ts'
import { PASTA_GATEWAY, publicAddresses, pastaArguments, pastaRules } from './pasta-rules.ts'
import { runProgram } from './run-script.ts'

/** `limitedConnections`: see `Workload`. */
type DesiredNetwork = { use: NetworkUse; limitedConnections?: number | undefined }

/** A network. `id`: the name of its files. `rules`: the rules inside it. `pastaArguments`: the arguments of its pasta. */
type CreatedNetwork = NetworkProcesses & DesiredNetwork & { id: string; rules: string; pastaArguments: string }

const WATCH_MS = 10_000

/**
 * Gives each workload and build a user and network namespace, without root. pasta forwards their packets through sockets of the
 * server's user.
 * Rules inside the namespace, which its programs cannot change, restrict what they reach.
 */
export class PastaNetwork implements Network {
  readonly kind = 'pasta'
  /** A sentence for operators; null if there is no limitation. */
  limitation: HostLimitation | null = null
  readonly #dir: string
  readonly #policies: Policies
  readonly #watchMs: number
  readonly #mutex = new KeyedMutex()
  readonly #records: NetworkRecords<CreatedNetwork>
  /** The file ids of networks that this process has created and not removed. */
  readonly #ownFileIds = new Set<string>()
  /** The hashes of the names of networks that this process has opened. */
  readonly #opened = new Set<string>()
  #watch: NodeJS.Timeout | null = null
  /** The limits in use; null if the kernel does not support the requested ones, and until that is checked. */
  #limits: ConnectionLimits | null = null

  private constructor({ stateDir, watchMs = WATCH_MS }: NetworkOptions, policies: Policies) {
    this.#dir = join(stateDir, 'pasta')
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
    this.#records = new NetworkRecords(stateDir)
    this.#policies = policies
    this.#watchMs = watchMs
  }

  /**
   * Checks that the host supports networks, by creating one and connecting to listeners from it. `sandbox`: a command prefix that
   * confines programs.
   * @throws Error when the host does not support them
   */
  static async open(options: NetworkOptions, sandbox: string[]): Promise<PastaNetwork> {
    const network = new PastaNetwork(options, await resolvePolicies(options.targets))
    await withProbeService(async (service) => {
      const probe = await network.#create({ use: 'squid' }, onlyService(network.#policies, service))
      try {
        await checkPolicy(prefixOf(probe), service, sandbox)
        const requested = options.connections ?? CONNECTION_LIMITS
        const { limits, limitation } = await findSupportedLimits(requested, (rules) => loadRules(probe, rules))
        network.#limits = limits
        network.limitation = limitation
      } finally {
        await network.#remove(probe)
      }
    })
    return network
  }

  async open(
    name: string,
    use: NetworkUse,
    _uid: number | null = null,
    limitedConnections?: number,
  ): Promise<string[]> {
    const id = shortHash(name)
    this.#opened.add(id)
    this.#startWatching()
    const opened = await this.#mutex.run(id, async () => {
      const existing = this.#existing(id)
      if (existing) return existing
      await this.#removeRecorded(id)
      const created = await this.#create({ use, limitedConnections })
      this.#records.set(id, created)
      return created
    })
    return prefixOf(opened)
  }

  async close(name: string): Promise<void> {
    const id = shortHash(name)
    await this.#mutex.run(id, () => this.#removeRecorded(id))
    this.#opened.delete(id)
  }

  async adopt(names: string[]): Promise<void> {
    const keptIds = new Set([...names.map(shortHash), ...this.#opened])
    for (const id of this.#records.ids()) if (!keptIds.has(id) || !this.#existing(id)) this.#records.delete(id)
    const keptFileIds = new Set(this.#records.ids().map((id) => this.#records.get(id)?.id))
    // Other networks may be opened while this waits.
    await endOthers(this.#dir, (id) => keptFileIds.has(id) || this.#ownFileIds.has(id))
    await this.#updateAll()
    this.#startWatching()
  }

  async detach(): Promise<void> {
    clearInterval(this.#watch ?? undefined)
    this.#watch = null
  }

  async #create(network: DesiredNetwork, policies = this.#policies): Promise<CreatedNetwork> {
    const id = randomBytes(5).toString('hex')
    const desired = this.#desiredOf(network, policies)
    this.#ownFileIds.add(id)
    try {
      const load = (processes: NetworkProcesses) => loadRules(processes, desired.rules)
      return {
        id,
        ...network,
        ...desired,
        ...(await startNetworkProcesses(this.#fileOf(id), desired.pastaArguments, load)),
      }
    } catch (error) {
      this.#ownFileIds.delete(id)
      throw error
    }
  }

  async #remove(created: CreatedNetwork): Promise<void> {
    await endNetworkProcesses(this.#fileOf(created.id), created)
    this.#ownFileIds.delete(created.id)
  }

  async #removeRecorded(id: string): Promise<void> {
    const record = this.#records.get(id)
    this.#records.delete(id)
    if (record?.leader) await this.#remove(record)
  }

  /** Updates networks after a change of the targets, or of the addresses of this host. */
  async #updateAll(): Promise<void> {
    // A network that cannot be updated keeps its rules until the next attempt.
    const updates = this.#records.ids().map((id) => this.#mutex.run(id, () => this.#update(id)))
    await Promise.allSettled(updates)
  }

  async #update(id: string): Promise<void> {
    const created = this.#existing(id)
    if (!created) return
    const desired = this.#desiredOf(created)
    const hasRules = desired.rules === created.rules
    const hasArguments = desired.pastaArguments === created.pastaArguments
    // Writes only changes, since writing fails while the disk of the host is full.
    if (hasRules && hasArguments) return
    if (!hasRules) await loadRules(created, desired.rules)
    if (!hasArguments) await restartPasta(this.#fileOf(created.id), created, desired.pastaArguments)
    this.#records.set(id, { ...created, ...desired })
  }

  #desiredOf({ use, limitedConnections }: DesiredNetwork, policies = this.#policies) {
    const limited = limitedTargets(policies[use], ['127.0.0.1', PASTA_GATEWAY], limitedConnections)
    const rules = pastaRules(use, policies, publicAddresses()) + limitRules(this.#limits, limited)
    return { rules, pastaArguments: pastaArguments(use, policies) }
  }

  #startWatching(): void {
    // Fails when the directory of the installation was deleted.
    const update = () => void this.#updateAll().catch(() => undefined)
    this.#watch ??= setInterval(update, this.#watchMs).unref()
  }

  /** Returns a recorded network; null if it no longer exists, for example after a restart of the host. */
  #existing(id: string): CreatedNetwork | null {
    const record = this.#records.get(id)
    // Records of other kinds of networks have no processes.
    return record?.leader && isComplete(record) ? record : null
  }

  #fileOf(id: string): string {
    return join(this.#dir, id)
  }
}

/** Loads rules as root of the namespace above that of the programs. */
async function loadRules({ leader, holder }: NetworkProcesses, rules: string): Promise<void> {
  // Needed if programs use a DNS server on loopback. The setting is read-only in some containers.
  const script = 'echo 1 2>/dev/null >/proc/sys/net/ipv4/conf/all/route_localnet || :; exec nft -f -'
  await runProgram([...joinNamespaces(leader.pid, holder.pid), '/bin/sh', '-c', script], rules)
}

const prefixOf = ({ holder: { pid } }: NetworkProcesses) => joinNamespaces(pid, pid)

/** Returns the command prefix that joins the user namespace of one process and the network namespace of another. */
const joinNamespaces = (userOf: number, networkOf: number) => [
  'nsenter',
  '--preserve-credentials',
  `--user=/proc/${userOf}/ns/user`,
  `--net=/proc/${networkOf}/ns/net`,
]

/** Returns the targets of a network that can reach only one loopback port of this host. */
const onlyService = (policies: Policies, port: number): Policies => {
  const loopback = [{ address: '127.0.0.1', port, protocols: ['tcp' as const], showsClient: false }]
  return { ...policies, squid: { loopback, remote: [] } }
}
