import { setTimeout as delay } from 'node:timers/promises'
import { backoffMs, consecutiveCrashes } from '../backoff.ts'
import { Timers, systemClock } from '../clock.ts'
import type {
  ContainerName,
  ContainerUsage,
  HostLimitation,
  LogAdmission,
  LogBatch,
  LogCursor,
  Observation,
  Runtime,
  Workload,
  WorkloadId,
} from '../driver.ts'
import { KubeClient } from './client/kube-client.ts'
import { KubeError } from './client/kube-error.ts'
import { kinds, objectPath } from './client/kinds.ts'
import { loadKubeConfig } from './client/load-config.ts'
import type { KubernetesOptions } from './kubernetes-options.ts'
import { readClusterLogs } from './logs/cluster-logs.ts'
import { anchorName, podContainerName } from './names.ts'
import { tenantObjects } from './objects/tenant-objects.ts'
import { anchorObject, secretObject, desiredStateOf } from './objects/workload-objects.ts'
import { deleteController, reconcilePrograms } from './reconcile-programs.ts'
import { ClusterState } from './state/cluster-state.ts'
import { RUNS, type WorkloadState } from './state/workload-state.ts'

const RUNS_MANAGER = 'shoal-runs'
const MAX_TAIL_BYTES = 1024 * 1024
/** After this time a request that the cluster refused is sent again. */
const RETRY_MS = 5000
const POLL_MS = 100

/**
 * Runs workloads as pods of a Kubernetes cluster. Only one runtime of an installation may be started at a time. Programs outlive it;
 * everything that the next one must know is in the cluster.
 */
export function createKubernetesRuntime(options: KubernetesOptions): Runtime {
  return new KubernetesRuntime(options)
}

class KubernetesRuntime implements Runtime {
  readonly name = 'kubernetes'
  readonly ownsHost = false
  readonly sharesNetwork = false
  readonly #options: KubernetesOptions
  readonly #timers: Timers
  /** The last work on each workload; a workload is changed by one task at a time. */
  readonly #tasks = new Map<string, Promise<unknown>>()
  readonly #scheduled = new Set<WorkloadState>()
  readonly #tenants = new Map<string, Promise<void>>()
  #cluster: { client: KubeClient; state: ClusterState } | null = null
  readonly #closing = new AbortController()

  constructor(options: KubernetesOptions) {
    this.#options = options
    this.#timers = new Timers(options.clock ?? systemClock)
  }

  async start(): Promise<HostLimitation[]> {
    const { installation, kubeconfig, clock = systemClock, log } = this.#options
    const client = new KubeClient(await loadKubeConfig(kubeconfig))
    const state = new ClusterState({
      client,
      installation,
      clock,
      log,
      onChange: (workload) => this.#schedule(workload),
      onRun: (workload) => this.#schedule(workload, () => this.#storeRuns(workload)),
    })
    this.#cluster = { client, state }
    await state.start()
    for (const workload of state.workloads) this.#scheduleRetries(workload)
    return []
  }

  async apply(workload: Workload): Promise<void> {
    const { client, state } = this.#started()
    await this.#ensureTenant(workload.tenant)
    await this.#whenGone(workload)
    await this.#enqueue(anchorName(workload.id), async () => {
      const anchor = await client.apply(anchorObject(this.#options, desiredStateOf(workload)))
      for (const spec of workload.containers)
        await client.apply(secretObject(this.#options, workload, spec, anchor.metadata.uid))
      await state.reachAnchor(anchor)
      const current = state.find(workload.tenant, workload.id)
      if (current) await this.#reconcile(current)
    })
  }

  async retry(id: WorkloadId, container: ContainerName, reason: string): Promise<void> {
    const workload = this.#started().state.findById(id)
    const observation = workload?.observations().find((candidate) => candidate.container === container)
    const record = workload?.records.get(container)
    if (!workload || !record?.last || observation?.state !== 'finished') return
    if (workload.desiredContainer(container)?.restart !== 'on-failure') return
    const { last } = record
    const ranMs = Date.parse(last.endedAt) - Date.parse(last.startedAt)
    const retries = consecutiveCrashes(record.retries, ranMs)
    const at = new Date(Math.max(Date.parse(last.endedAt) + backoffMs(retries), this.#now())).toISOString()
    workload.records.set(container, { ...record, last: { ...last, how: 'error' }, retries, retry: { at, reason } })
    workload.invalidate()
    this.#scheduleRetries(workload)
    await this.#enqueue(anchorName(id), () => this.#storeRuns(workload))
  }

  async observe(): Promise<Observation[]> {
    const { state } = this.#started()
    await state.current()
    return [...state.workloads].flatMap((workload) => workload.observations())
  }

  /** Resolves when the end of the workload is recorded. Its containers are observed until their pods have ended. */
  async remove(id: WorkloadId): Promise<void> {
    const { client, state } = this.#started()
    await state.current()
    const workload = state.findById(id)
    if (!workload) return
    await this.#enqueue(anchorName(id), async () => {
      const anchor = await client.delete(kinds.configMap, workload.namespace, anchorName(id))
      if (anchor?.kind === 'ConfigMap') await state.reachAnchor(anchor)
    })
  }

  async usage(): Promise<ContainerUsage[]> {
    return []
  }

  logs(from: LogCursor, signal: AbortSignal, admits?: LogAdmission): AsyncIterable<LogBatch> {
    return readClusterLogs(this.#started(), from, signal, admits)
  }

  async tail(id: WorkloadId, container: ContainerName, lines: number): Promise<string[]> {
    const { client, state } = this.#started()
    const pod = state.findById(id)?.newestPod(container)
    if (!pod) return []
    const path = `${objectPath(kinds.pod, pod.metadata.namespace, pod.metadata.name)}/log`
    const query = {
      container: podContainerName(container),
      tailLines: String(lines),
      limitBytes: String(MAX_TAIL_BYTES),
    }
    try {
      const text = await client.readText(path, query)
      return text === '' ? [] : text.replace(/\n$/, '').split('\n')
    } catch (error) {
      // The container has not started yet, or its pod no longer exists.
      if (error instanceof KubeError) return []
      throw error
    }
  }

  async close(containers: 'stop' | 'keep'): Promise<void> {
    if (!this.#cluster) return
    if (containers === 'stop') throw new Error('Programs in a cluster cannot be stopped with the server')
    this.#closing.abort()
    this.#timers.cancelAll()
    await this.#cluster.state.close()
    await Promise.allSettled(this.#tasks.values())
    this.#cluster.client.close()
  }

  #started(): { client: KubeClient; state: ClusterState } {
    if (!this.#cluster) throw new Error('The runtime was not started')
    return this.#cluster
  }

  #now(): number {
    return (this.#options.clock ?? systemClock).now().getTime()
  }

  /** Creates the namespace of a tenant and what it contains, once by each process. */
  #ensureTenant(tenant: string): Promise<void> {
    const existing = this.#tenants.get(tenant)
    if (existing) return existing
    const creating = (async () => {
      for (const object of tenantObjects(this.#options, tenant)) await this.#started().client.apply(object)
    })()
    this.#tenants.set(tenant, creating)
    creating.catch(() => this.#tenants.delete(tenant))
    return creating
  }

  /** Waits until a removal of the same workload is complete. */
  async #whenGone({ tenant, id }: Workload): Promise<void> {
    const { state } = this.#started()
    await state.current()
    while (state.anchorOf(tenant, id)?.metadata.deletionTimestamp !== undefined) {
      await delay(POLL_MS, undefined, { signal: this.#closing.signal })
      await state.current()
    }
  }

  async #reconcile(workload: WorkloadState): Promise<void> {
    const isComplete = await reconcilePrograms(this.#started().client, this.#options, workload)
    if (!isComplete) this.#timers.after(RETRY_MS, () => this.#schedule(workload))
  }

  async #storeRuns(workload: WorkloadState): Promise<void> {
    const { anchor, desired, namespace } = workload
    if (!anchor || !desired) return
    const { name, uid } = anchor.metadata
    const metadata = { name, namespace, uid }
    const data = { [RUNS]: workload.storedRecords() }
    await this.#started().client.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }, RUNS_MANAGER)
  }

  /** Restarts finished containers at the time that `retry` has set. */
  #scheduleRetries(workload: WorkloadState): void {
    for (const [container, { retry }] of workload.records) {
      if (!retry) continue
      const restart = async () => {
        const [controller] = workload.controllersOf(container)
        // The next reconciliation creates it again.
        if (controller && workload.records.get(container)?.retry?.at === retry.at)
          await deleteController(this.#started().client, controller)
      }
      this.#timers.after(Math.max(0, Date.parse(retry.at) - this.#now()), () => this.#schedule(workload, restart))
    }
  }

  /** Reconciles a workload soon, after `work`. Errors are tried again, since no caller waits for them. */
  #schedule(workload: WorkloadState, work?: () => Promise<void>): void {
    if (this.#closing.signal.aborted || (!work && this.#scheduled.has(workload))) return
    if (!work) this.#scheduled.add(workload)
    const key = workload.desired ? anchorName(workload.desired.id) : workload.namespace
    this.#enqueue(key, async () => {
      this.#scheduled.delete(workload)
      if (this.#closing.signal.aborted) return
      await (work ? work() : this.#reconcile(workload))
    }).catch((error) => {
      if (this.#closing.signal.aborted || isOutdated(error)) return
      this.#options.log(`A change of the cluster failed and is tried again: ${error.message}`)
      this.#timers.after(RETRY_MS, () => this.#schedule(workload, work))
    })
  }

  #enqueue<T>(key: string, task: () => Promise<T>): Promise<T> {
    const running = (this.#tasks.get(key) ?? Promise.resolve()).then(task, task)
    const settled = running.catch(() => undefined)
    this.#tasks.set(key, settled)
    void settled.then(() => this.#tasks.get(key) === settled && this.#tasks.delete(key))
    return running
  }
}

/** True if the object has changed or no longer exists: the event that reports it leads to another attempt. */
const isOutdated = (error: unknown): boolean =>
  error instanceof KubeError && (error.status === 404 || error.status === 409)
