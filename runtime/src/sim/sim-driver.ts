import { isDeepStrictEqual } from 'node:util'
import { type RuntimeClock, systemRuntimeClock } from '../clock.ts'
import type {
  ContainerName,
  ContainerSpec,
  Directory,
  EndpointListener,
  LogAdmission,
  LogBatch,
  LogCursor,
  Observation,
  Runtime,
  ContainerUsage,
  Workload,
  WorkloadId,
} from '../driver.ts'
import { type SimBehaviour, behaviourOf } from './behaviour.ts'
import { SimContainer } from './sim-container.ts'
import { SimDirectory } from './sim-directory.ts'
import { SimLogs } from './sim-log.ts'
import { SimServers } from './servers/sim-servers.ts'

export type SimRuntimeOptions = {
  /** Default: the system clock. */
  clock?: RuntimeClock
  /** Returns the behaviour of a container whose environment does not define one; undefined: it behaves like a healthy squid. */
  behaviour?: (workload: Workload, spec: ContainerSpec) => SimBehaviour | undefined
  hasImage?: (image: string) => boolean
  /** True: endpoints have real servers. Default: false. */
  serve?: boolean
  /** The host of another runtime, with its containers. Default: an empty host. */
  host?: SimHost
  /** See `Runtime.ownsHost`. Default: true. Must be false in tests that call `loseHost`. */
  ownsHost?: boolean
  /** See `Runtime.sharesNetwork`. Default: false. */
  sharesNetwork?: boolean
}

/**
 * Simulates containers in the memory of this process, for tests, demos and load tests with thousands of versions.
 * Only the runtime's own `directory` resolves their ports; other processes cannot.
 */
export function createSimRuntime(options: SimRuntimeOptions = {}): SimRuntime {
  return new SimRuntime(options)
}

type SimWorkload = { desired: Workload; containers: Map<ContainerName, SimContainer> }

/** State that outlives a runtime, as processes outlive a server. */
export class SimHost {
  readonly workloads = new Map<WorkloadId, SimWorkload>()
  readonly logs = new SimLogs()
  readonly servers = new SimServers()
  readonly listeners = new Set<EndpointListener>()
  /** When the hosts of containers stopped responding, by `<workload>/<container>`. */
  readonly lost = new Map<string, Date>()
  readonly tenants = new Set<string>()

  find(id: WorkloadId, name: ContainerName): SimContainer | undefined {
    return this.workloads.get(id)?.containers.get(name)
  }

  /** Notifies directories that an endpoint of this container may have changed. */
  notify(...change: Parameters<EndpointListener>): void {
    for (const listener of this.listeners) listener(...change)
  }
}

export class SimRuntime implements Runtime {
  readonly name = 'sim'
  readonly ownsHost: boolean
  readonly sharesNetwork: boolean
  readonly host: SimHost
  readonly directory: Directory
  readonly #options: SimRuntimeOptions
  readonly #recalled = new Map<WorkloadId, Workload>()

  constructor(options: SimRuntimeOptions) {
    this.#options = options
    this.ownsHost = options.ownsHost ?? true
    this.sharesNetwork = options.sharesNetwork ?? false
    this.host = options.host ?? new SimHost()
    this.directory = new SimDirectory(this.host, options.serve ?? false)
  }

  async start(): Promise<string[]> {
    for (const container of this.#containersOf()) container.resume()
    return ['Squids are only simulated: SHOAL_RUNTIME is sim']
  }

  async apply(desired: Workload): Promise<void> {
    this.host.tenants.add(desired.tenant)
    const current = this.host.workloads.get(desired.id)
    const containers = new Map<ContainerName, SimContainer>()
    for (const spec of desired.containers) {
      const previous = current?.containers.get(spec.name)
      const isUnchanged = previous && current?.desired.image === desired.image && isSameProgram(previous.spec, spec)
      if (previous && !isUnchanged) previous.stop()
      containers.set(spec.name, isUnchanged ? previous : this.#open(desired, spec, previous))
    }
    this.#recalled.delete(desired.id)
    this.host.workloads.set(desired.id, { desired: structuredClone(desired), containers })
    for (const [name, container] of current?.containers ?? []) {
      if (containers.has(name)) continue
      // It is unknown whether the program has ended.
      if (this.host.lost.has(`${desired.id}/${name}`)) containers.set(name, container)
      else this.#discard(desired.id, container)
    }
    for (const name of containers.keys()) this.host.notify(desired.id, name)
  }

  recall(workload: Workload): void {
    this.#recalled.set(workload.id, workload)
  }

  async retry(id: WorkloadId, container: ContainerName, reason: string): Promise<void> {
    this.host.find(id, container)?.retry(reason)
  }

  async observe(workloads?: readonly WorkloadId[]): Promise<Observation[]> {
    const current = this.#containersOf(workloads).filter((container) => !this.#isReverted(container))
    return current.map((container) => {
      const observation = container.observation()
      if (this.host.lost.size === 0) return { ...observation, hostLostSince: null }
      const hostLostSince = this.host.lost.get(`${observation.workload}/${observation.container}`)
      if (!hostLostSince) return { ...observation, hostLostSince: null }
      return { ...observation, state: 'starting', run: null, reason: 'Its host does not respond', hostLostSince }
    })
  }

  async remove(id: WorkloadId): Promise<void> {
    const { desired } = this.host.workloads.get(id) ?? {}
    if (desired) await this.apply({ ...desired, containers: [] })
    if (this.host.workloads.get(id)?.containers.size === 0) this.host.workloads.delete(id)
  }

  async tenants(): Promise<string[]> {
    return [...this.host.tenants]
  }

  async removeTenant(tenant: string): Promise<void> {
    this.host.tenants.delete(tenant)
  }

  /** Simulates that the host of a container stops responding. */
  loseHost(id: WorkloadId, container: ContainerName): void {
    this.host.lost.set(`${id}/${container}`, (this.#options.clock ?? systemRuntimeClock).now())
  }

  async abandon(id: WorkloadId, container: ContainerName): Promise<void> {
    this.host.lost.delete(`${id}/${container}`)
    const { desired } = this.host.workloads.get(id) ?? {}
    // The workload is being removed.
    if (desired?.containers.length === 0) await this.remove(id)
    else if (desired) await this.apply(desired)
  }

  async usage(): Promise<ContainerUsage[]> {
    return this.#containersOf().flatMap((container) => container.usage() ?? [])
  }

  logs(from: LogCursor, signal: AbortSignal, admits?: LogAdmission): AsyncIterable<LogBatch> {
    return this.host.logs.read(from, signal, admits)
  }

  async tail(id: WorkloadId, container: ContainerName, lines: number): Promise<string[]> {
    return this.host.find(id, container)?.log.tail(lines) ?? []
  }

  async close(containers: 'stop' | 'keep'): Promise<void> {
    if (containers === 'keep') return
    for (const container of this.#containersOf()) container.stop()
    this.host.servers.closeAll()
  }

  #open(desired: Workload, spec: ContainerSpec, previous: SimContainer | undefined): SimContainer {
    const { clock = systemRuntimeClock, behaviour, hasImage = () => true } = this.#options
    const { logs, servers } = this.host
    return new SimContainer({
      clock,
      workload: desired.id,
      spec: structuredClone(spec),
      behaviour: behaviourOf(desired, spec, behaviour),
      hasImage: () => hasImage(desired.image),
      log: previous?.log ?? logs.open(desired.id, spec.name),
      history: previous?.history,
      onOutput: () => logs.wake(),
      onStop: () => servers.close(`${desired.id}/${spec.name}`),
      onChange: () => this.host.notify(desired.id, spec.name),
    })
  }

  #discard(id: WorkloadId, container: SimContainer): void {
    container.stop()
    this.host.notify(id, container.spec.name)
    container.log.isEnded = true
    this.host.logs.wake()
  }

  /** True if the host has another desired state of the container than the one that was recalled. */
  #isReverted(container: SimContainer): boolean {
    if (this.#recalled.size === 0) return false
    const { workload, container: name } = container.observation()
    const recalled = this.#recalled.get(workload)?.containers.find((spec) => spec.name === name)
    return recalled?.restart === 'on-failure' && !isSameProgram(recalled, container.spec)
  }

  /** Returns the containers of these workloads; by default of all. */
  #containersOf(ids: Iterable<WorkloadId> = this.host.workloads.keys()): SimContainer[] {
    return [...ids].flatMap((id) => [...(this.host.workloads.get(id)?.containers.values() ?? [])])
  }
}

const isSameProgram = (first: ContainerSpec, second: ContainerSpec): boolean =>
  isDeepStrictEqual({ ...first, stopGraceMs: 0 }, { ...second, stopGraceMs: 0 })
