import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { type RuntimeClock, systemRuntimeClock } from '../clock.ts'
import type {
  ContainerName,
  LogAdmission,
  LogBatch,
  LogCursor,
  Observation,
  Runtime,
  ContainerUsage,
  Workload,
  WorkloadId,
} from '../driver.ts'
import { ChangeWriter } from './changes.ts'
import { Container } from './container.ts'
import {
  containerFiles,
  idOfFileName,
  makeTraversable,
  fileNameOf,
  removeTree,
  WORKLOAD_FILE,
  workloadsDirIn,
} from './container-record.ts'
import type { HostContext } from './container-run.ts'
import { removeCgroupBase } from './cgroup.ts'
import { type Host, type HostOptions, prepareHost } from './host.ts'
import { installFile } from './install-file.ts'
import { LogStore } from './log-store.ts'
import { listProcesses } from './processes.ts'
import { ContainerSockets } from './sockets.ts'
import { endUnrecordedPrograms } from './unrecorded.ts'
import { type EnvironmentSealer, WorkloadFiles } from './workload-file.ts'

export type ProcessDriverOptions = HostOptions & {
  /** The directory in which the builder stores images. Must be traversable by every user. */
  imagesDir: string
  /** The host, if the caller has already prepared it. */
  host?: Host
  clock?: RuntimeClock
  /** Encrypts the environments of containers before they are stored in files. Default: no encryption. */
  sealer?: EnvironmentSealer
  /** How long a program may use a whole core after its start; 0: its profile applies immediately. */
  startUpMs?: number
}

/** Creates a runtime whose containers are processes of this host. They outlive the server, and the next server adopts them. */
export function createProcessRuntime(options: ProcessDriverOptions): Runtime {
  return new ProcessRuntime(options)
}

class ProcessRuntime implements Runtime {
  readonly name = 'process'
  readonly ownsHost = true
  readonly #options: ProcessDriverOptions
  readonly #containers = new Map<WorkloadId, Map<ContainerName, Container>>()
  /** Removals in progress, awaited by `apply` of the same workload. */
  readonly #removals = new Map<WorkloadId, Promise<void>>()
  readonly #workloadFiles: WorkloadFiles
  #context: HostContext | null = null

  constructor(options: ProcessDriverOptions) {
    this.#options = options
    this.#workloadFiles = new WorkloadFiles(options.sealer)
  }

  get sharesNetwork(): boolean {
    return this.#requireContext().host.network.kind === 'shared'
  }

  async start(): Promise<string[]> {
    const { imagesDir, clock = systemRuntimeClock, startUpMs = 10_000 } = this.#options
    const host = this.#options.host ?? (await prepareHost(this.#options))
    const logs = new LogStore(join(host.stateDir, 'unread-logs'), host.disks.containerBytes)
    const preloads = ['preload.cjs', 'wrapper.cjs', 'introspection.cjs'].map((name) => installFile(host.stateDir, name))
    this.#context = {
      host,
      imagesDir,
      preloads,
      shimFile: installFile(host.stateDir, 'shim.sh'),
      forwarderFile: installFile(host.stateDir, 'forwarder.cjs'),
      sockets: new ContainerSockets(host),
      logs,
      changes: new ChangeWriter(host.stateDir),
      clock,
      startUpMs,
    }
    makeTraversable(this.#workloadsDir())
    const ids = readdirSync(this.#workloadsDir()).map(idOfFileName)
    const adopted = await Promise.all(ids.map(async (id) => ({ id, desired: await this.#adopt(id) })))
    const recorded = [...this.#containers].flatMap(([id, containers]) =>
      [...containers.values()].map(({ name, shim }) => ({ key: `${id}/${name}`, shim })),
    )
    await endUnrecordedPrograms(this.#context, recorded)
    await host.network.adopt(ids)
    for (const { id, desired } of adopted) {
      if (desired) this.#reconcile(desired)
      else void this.remove(id).catch(() => undefined)
    }
    this.#workloadFiles.watchKey()
    return [...host.limitations, ...this.#workloadFiles.problems()]
  }

  async apply(workload: Workload): Promise<void> {
    await this.#removals.get(workload.id)
    makeTraversable(this.#workloadDir(workload.id))
    this.#workloadFiles.write(this.#workloadFile(workload.id), workload)
    this.#reconcile(workload)
  }

  async retry(id: WorkloadId, container: ContainerName, reason: string): Promise<void> {
    await this.#containers.get(id)?.get(container)?.retry(reason)
  }

  async observe(workloads?: readonly WorkloadId[]): Promise<Observation[]> {
    // Before the start, the state is unknown; an empty list would mean that no container exists.
    this.#requireContext()
    return this.#listContainers(workloads)
      .map((container) => container.observation())
      .filter((observation) => observation !== null)
  }

  /** Programs run on the server's own host, which the server cannot lose. */
  async abandon(): Promise<void> {}

  /** Tenants without workloads have no files. */
  readonly tenants = async (): Promise<string[]> => []
  async removeTenant(): Promise<void> {}

  remove(id: WorkloadId): Promise<void> {
    const removal = this.#removals.get(id) ?? this.#remove(id).finally(() => this.#removals.delete(id))
    this.#removals.set(id, removal)
    return removal
  }

  async usage(): Promise<ContainerUsage[]> {
    const at = this.#requireContext().clock.now()
    let processes: ReturnType<typeof listProcesses> | undefined
    const listAll = () => (processes ??= listProcesses())
    const usages: ContainerUsage[] = []
    for (const [index, container] of this.#listContainers().entries()) {
      const usage = container.usage(at, listAll)
      if (usage) usages.push(usage)
      await container.checkDisk()
      // Reading the kernel's files is synchronous: yield to other work.
      if (index % 20 === 19) await setImmediate()
    }
    return usages
  }

  logs(from: LogCursor, signal: AbortSignal, admits?: LogAdmission): AsyncIterable<LogBatch> {
    return this.#requireContext().logs.read(from, signal, admits)
  }

  async tail(id: WorkloadId, container: ContainerName, lines: number): Promise<string[]> {
    return this.#containers.get(id)?.get(container)?.lastLines(lines) ?? []
  }

  async close(containers: 'stop' | 'keep'): Promise<void> {
    if (!this.#context) return
    this.#workloadFiles.close()
    await Promise.all(
      this.#listContainers().map((container) => (containers === 'stop' ? container.stop() : container.detach())),
    )
    const { host, sockets, changes } = this.#context
    if (containers === 'stop') for (const id of this.#containers.keys()) await host.network.close(id)
    await host.network.detach()
    await host.disks.close()
    changes.close()
    sockets.removeIfEmpty()
    if (host.cgroups) await removeCgroupBase(host.cgroups)
  }

  /** Starts reconciling every container of the workload with its desired state. */
  #reconcile(workload: Workload): void {
    const containers = this.#containersOf(workload.id)
    const specs = new Map(workload.containers.map((spec) => [spec.name, spec]))
    for (const name of new Set([...containers.keys(), ...specs.keys()])) {
      const spec = specs.get(name)
      const container = containers.get(name) ?? this.#open(workload.id, name)
      containers.set(name, container)
      void container.setDesired(spec ? { ...workload, spec } : null)
    }
  }

  async #remove(id: WorkloadId): Promise<void> {
    // A workload without a desired state is being removed, so a later server continues the removal.
    this.#workloadFiles.delete(this.#workloadFile(id))
    const containers = [...(this.#containers.get(id)?.values() ?? [])]
    for (const { name } of containers) this.#requireContext().changes.add(id, name)
    await Promise.all(containers.map((container) => container.setDesired(null)))
    const remaining = containers.map((container) => container.observation()).find((observation) => observation !== null)
    if (remaining)
      throw new Error(`Container ${remaining.container} of ${id} could not be removed: ${remaining.reason}`)
    await this.#requireContext().host.network.close(id)
    this.#containers.delete(id)
    removeTree(this.#workloadDir(id))
  }

  /** Adopts the containers of an earlier server’s workload. Resolves with its desired state; null when the workload is to be removed. */
  async #adopt(id: WorkloadId): Promise<Workload | null> {
    const dir = this.#workloadDir(id)
    const workload = this.#workloadFiles.read(this.#workloadFile(id))
    const containers = this.#containersOf(id)
    const names = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    for (const name of names.map((entry) => idOfFileName(entry.name))) {
      const spec = workload?.containers.find((spec) => spec.name === name)
      const container = this.#open(id, name)
      containers.set(name, container)
      await container.adopt(workload && spec ? { ...workload, spec } : null)
    }
    return workload
  }

  #open(id: WorkloadId, name: ContainerName): Container {
    const files = containerFiles(join(this.#workloadDir(id), fileNameOf(name)))
    return new Container({ hostContext: this.#requireContext(), workload: id, key: `${id}/${name}`, files }, id, name)
  }

  #containersOf(id: WorkloadId): Map<ContainerName, Container> {
    const containers = this.#containers.get(id) ?? new Map<ContainerName, Container>()
    this.#containers.set(id, containers)
    return containers
  }

  /** Returns the containers of these workloads; by default of all. */
  #listContainers(ids: Iterable<WorkloadId> = this.#containers.keys()): Container[] {
    return [...ids].flatMap((id) => [...(this.#containers.get(id)?.values() ?? [])])
  }

  #workloadsDir(): string {
    return workloadsDirIn(this.#requireContext().host.stateDir)
  }

  #workloadFile(id: WorkloadId): string {
    return join(this.#workloadDir(id), WORKLOAD_FILE)
  }

  #workloadDir(id: WorkloadId): string {
    return join(this.#workloadsDir(), fileNameOf(id))
  }

  #requireContext(): HostContext {
    if (!this.#context) throw new Error('The runtime was not started')
    return this.#context
  }
}
