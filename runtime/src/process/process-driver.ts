import { chmodSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { type Clock, systemClock } from '../clock.ts'
import type {
  ContainerName,
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
  idOf,
  makeTraversable,
  nameOf,
  readDesired,
  removeTree,
  WORKLOAD_FILE,
  workloadsDirIn,
  writeJson,
} from './container-record.ts'
import type { HostContext } from './container-run.ts'
import { removeCgroupBase } from './cgroup.ts'
import { type HostOptions, prepareHost, shortHash } from './host.ts'
import { LogStore } from './log-store.ts'
import { listProcesses } from './processes.ts'
import { Sockets } from './sockets.ts'
import { endUnrecorded } from './unrecorded.ts'

export type ProcessDriverOptions = HostOptions & {
  /** Where the builder stores images; must be traversable for every user. */
  imagesDir: string
  clock?: Clock
  /** How long a program may use a whole core when it starts; 0: its profile applies immediately. */
  startUpMs?: number
}

/** Containers as processes of this host. They outlive the server and are adopted by the next one. */
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
  #context: HostContext | null = null

  constructor(options: ProcessDriverOptions) {
    this.#options = options
  }

  async start(): Promise<string[]> {
    const { imagesDir, clock = systemClock, startUpMs = 10_000 } = this.#options
    const host = await prepareHost(this.#options)
    const logs = new LogStore(join(host.stateDir, 'unread-logs'))
    const preloads = ['preload.cjs', 'wrapper.cjs', 'introspection.cjs'].map((name) => installFile(host.stateDir, name))
    const shimFile = installFile(host.stateDir, 'shim.sh')
    this.#context = {
      host,
      imagesDir,
      preloads,
      shimFile,
      sockets: new Sockets(host),
      logs,
      changes: new ChangeWriter(host.stateDir),
      clock,
      startUpMs,
    }
    makeTraversable(this.#workloadsDir())
    const ids = readdirSync(this.#workloadsDir()).map(idOf)
    const adopted = await Promise.all(ids.map(async (id) => ({ id, desired: await this.#adopt(id) })))
    const found = [...this.#containers].flatMap(([id, containers]) =>
      [...containers.values()].map(({ name, shim }) => ({ key: `${id}/${name}`, shim })),
    )
    await endUnrecorded(this.#context, found)
    for (const { id, desired } of adopted) {
      if (desired) this.#reconcile(desired)
      else void this.remove(id).catch(() => undefined)
    }
    return host.shortcomings
  }

  async apply(workload: Workload): Promise<void> {
    await this.#removals.get(workload.id)
    makeTraversable(this.#workloadDir(workload.id))
    writeJson(join(this.#workloadDir(workload.id), WORKLOAD_FILE), workload)
    this.#reconcile(workload)
  }

  async retry(id: WorkloadId, container: ContainerName, reason: string): Promise<void> {
    await this.#containers.get(id)?.get(container)?.retry(reason)
  }

  async observe(): Promise<Observation[]> {
    // Before the start, the state is unknown, which is different from "nothing runs".
    this.#started()
    return this.#all()
      .map((container) => container.observation())
      .filter((observation) => observation !== null)
  }

  remove(id: WorkloadId): Promise<void> {
    const removal = this.#removals.get(id) ?? this.#remove(id).finally(() => this.#removals.delete(id))
    this.#removals.set(id, removal)
    return removal
  }

  async usage(): Promise<ContainerUsage[]> {
    const at = this.#started().clock.now()
    let processes: ReturnType<typeof listProcesses> | undefined
    const all = () => (processes ??= listProcesses())
    const usages: ContainerUsage[] = []
    for (const [index, container] of this.#all().entries()) {
      const usage = container.usage(at, all)
      if (usage) usages.push(usage)
      // Reading the kernel's files is synchronous: yield to other work.
      if (index % 20 === 19) await setImmediate()
    }
    return usages
  }

  logs(from: LogCursor, signal: AbortSignal): AsyncIterable<LogBatch> {
    return this.#started().logs.read(from, signal)
  }

  async tail(id: WorkloadId, container: ContainerName, lines: number): Promise<string[]> {
    return this.#containers.get(id)?.get(container)?.lastLines(lines) ?? []
  }

  async close(containers: 'stop' | 'keep'): Promise<void> {
    if (!this.#context) return
    await Promise.all(this.#all().map((container) => (containers === 'stop' ? container.stop() : container.detach())))
    const { host, sockets, changes } = this.#context
    changes.close()
    sockets.removeIfEmpty()
    if (host.cgroups) await removeCgroupBase(host.cgroups)
  }

  /** Starts reconciling every container of the workload with its desired state. */
  #reconcile(workload: Workload): void {
    const containers = this.#containersOf(workload.id)
    const { tenant, version, image } = workload
    const specs = new Map(workload.containers.map((spec) => [spec.name, spec]))
    for (const name of new Set([...containers.keys(), ...specs.keys()])) {
      const spec = specs.get(name)
      const container = containers.get(name) ?? this.#open(workload.id, name)
      containers.set(name, container)
      void container.setDesired(spec ? { tenant, version, image, spec } : null)
    }
  }

  async #remove(id: WorkloadId): Promise<void> {
    // Without its desired state a workload counts as removed, also for a later server.
    rmSync(join(this.#workloadDir(id), WORKLOAD_FILE), { force: true })
    const containers = [...(this.#containers.get(id)?.values() ?? [])]
    for (const { name } of containers) this.#started().changes.add(id, name)
    await Promise.all(containers.map((container) => container.setDesired(null)))
    const left = containers.map((container) => container.observation()).find((observation) => observation !== null)
    if (left) throw new Error(`Container ${left.container} of ${id} could not be removed: ${left.reason}`)
    this.#containers.delete(id)
    removeTree(this.#workloadDir(id))
  }

  /** Adopts the containers of a workload from an earlier server. Resolves with its desired state; null when it is to be removed. */
  async #adopt(id: WorkloadId): Promise<Workload | null> {
    const dir = this.#workloadDir(id)
    const workload = readDesired(join(dir, WORKLOAD_FILE))
    const containers = this.#containersOf(id)
    const names = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    for (const name of names.map((entry) => idOf(entry.name))) {
      const spec = workload?.containers.find((spec) => spec.name === name)
      const container = this.#open(id, name)
      containers.set(name, container)
      await container.adopt(workload && spec ? { ...workload, spec } : null)
    }
    return workload
  }

  #open(id: WorkloadId, name: ContainerName): Container {
    const files = containerFiles(join(this.#workloadDir(id), nameOf(name)))
    return new Container({ hostContext: this.#started(), key: `${id}/${name}`, files }, id, name)
  }

  #containersOf(id: WorkloadId): Map<ContainerName, Container> {
    const containers = this.#containers.get(id) ?? new Map<ContainerName, Container>()
    this.#containers.set(id, containers)
    return containers
  }

  #all(): Container[] {
    return [...this.#containers.values()].flatMap((containers) => [...containers.values()])
  }

  #workloadsDir(): string {
    return workloadsDirIn(this.#started().host.stateDir)
  }

  #workloadDir(id: WorkloadId): string {
    return join(this.#workloadsDir(), nameOf(id))
  }

  #started(): HostContext {
    if (!this.#context) throw new Error('The runtime was not started')
    return this.#context
  }
}

/**
 * Copies a file that containers use to a readable location. Its name contains a hash of its content, so that an upgrade does not
 * change it for running containers.
 */
function installFile(stateDir: string, name: string): string {
  const text = readFileSync(new URL(name, import.meta.url), 'utf8')
  const file = join(stateDir, `${shortHash(text)}-${name}`)
  writeFileSync(`${file}.new`, text)
  chmodSync(`${file}.new`, 0o644)
  renameSync(`${file}.new`, file)
  return file
}
