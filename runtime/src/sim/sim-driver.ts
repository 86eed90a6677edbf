import { isDeepStrictEqual } from 'node:util'
import { type Clock, systemClock } from '../clock.ts'
import type {
  ContainerName,
  ContainerSpec,
  Driver,
  Endpoint,
  LogBatch,
  LogCursor,
  Observation,
  Usage,
  Workload,
  WorkloadId,
} from '../driver.ts'
import { type SimBehaviour, behaviourOf } from './behaviour.ts'
import { SimContainer } from './sim-container.ts'
import { SimLogs } from './sim-log.ts'
import { SimServers } from './sim-servers.ts'

export type SimDriverOptions = {
  /** Default: the machine's. */
  clock?: Clock
  /** What a container does whose environment says nothing; undefined: what a healthy squid does. */
  behaviour?: (workload: Workload, spec: ContainerSpec) => SimBehaviour | undefined
  hasImage?: (image: string) => boolean
  /** True: endpoints really answer. */
  serve?: boolean
  /** Another driver's host: its containers are there. Without: an empty one. */
  host?: SimHost
}

/** Containers that are only played: for tests, demos and scale runs with thousands of versions. */
export function createSimDriver(options: SimDriverOptions = {}): SimDriver {
  return new SimDriver(options)
}

type SimWorkload = { wish: Workload; containers: Map<ContainerName, SimContainer> }

/** What outlives a driver, as processes outlive a server. */
export class SimHost {
  readonly workloads = new Map<WorkloadId, SimWorkload>()
  readonly logs = new SimLogs()
  readonly servers = new SimServers()
}

export class SimDriver implements Driver {
  readonly name = 'sim'
  readonly host: SimHost
  readonly #options: SimDriverOptions

  constructor(options: SimDriverOptions) {
    this.#options = options
    this.host = options.host ?? new SimHost()
  }

  async start(): Promise<string[]> {
    for (const container of this.#all()) container.resume()
    return ['Squids are only played: SHOAL_RUNTIME is sim']
  }

  async apply(wish: Workload): Promise<void> {
    const known = this.host.workloads.get(wish.id)
    const containers = new Map<ContainerName, SimContainer>()
    for (const spec of wish.containers) {
      const before = known?.containers.get(spec.name)
      const isSame = before && known?.wish.image === wish.image && isDeepStrictEqual(before.spec, spec)
      if (before && !isSame) before.stop()
      containers.set(spec.name, isSame ? before : this.#open(wish, spec, before))
    }
    for (const [name, container] of known?.containers ?? []) if (!containers.has(name)) this.#forget(container)
    this.host.workloads.set(wish.id, { wish: structuredClone(wish), containers })
  }

  async retry(id: WorkloadId, container: ContainerName, reason: string): Promise<void> {
    this.#find(id, container)?.retry(reason)
  }

  async observe(): Promise<Observation[]> {
    return this.#all().map((container) => container.observation())
  }

  async remove(id: WorkloadId): Promise<void> {
    for (const container of this.host.workloads.get(id)?.containers.values() ?? []) this.#forget(container)
    this.host.workloads.delete(id)
  }

  async usage(): Promise<Usage[]> {
    return this.#all().map((container) => container.usage())
  }

  logs(from: LogCursor, signal: AbortSignal): AsyncIterable<LogBatch> {
    return this.host.logs.read(from, signal)
  }

  async tail(id: WorkloadId, container: ContainerName, lines: number): Promise<string[]> {
    return this.#find(id, container)?.log.tail(lines) ?? []
  }

  endpoint(id: WorkloadId, name: ContainerName, port: number): Endpoint | null {
    const container = this.#find(id, name)
    if (!container?.spec.ports.includes(port)) return null
    // Nobody listens on port 9 (discard): a refused connection is what a container without a server answers.
    if (!this.#options.serve) return { kind: 'tcp', host: '127.0.0.1', port: 9 }
    return { kind: 'unix', path: this.host.servers.path(`${id}/${name}`, port, container) }
  }

  async close(containers: 'stop' | 'keep'): Promise<void> {
    if (containers === 'keep') return
    for (const container of this.#all()) container.stop()
    this.host.servers.closeAll()
  }

  #open(wish: Workload, spec: ContainerSpec, before: SimContainer | undefined): SimContainer {
    const { clock = systemClock, behaviour, hasImage = () => true } = this.#options
    const { logs, servers } = this.host
    return new SimContainer({
      clock,
      workload: wish.id,
      spec: structuredClone(spec),
      behaviour: behaviourOf(wish, spec, behaviour),
      hasImage: () => hasImage(wish.image),
      log: before?.log ?? logs.open(wish.id, spec.name),
      wrote: () => logs.wake(),
      stopped: () => servers.close(`${wish.id}/${spec.name}`),
    })
  }

  #forget(container: SimContainer): void {
    container.stop()
    container.log.isEnded = true
    this.host.logs.wake()
  }

  #find(id: WorkloadId, name: ContainerName): SimContainer | undefined {
    return this.host.workloads.get(id)?.containers.get(name)
  }

  #all(): SimContainer[] {
    return [...this.host.workloads.values()].flatMap(({ containers }) => [...containers.values()])
  }
}
