import { setTimeout as delay } from 'node:timers/promises'
import { backoffMs, consecutiveCrashes } from '../backoff.ts'
import { Timers, systemRuntimeClock } from '../clock.ts'
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
import { connectOrRetry } from './client/connect-or-retry.ts'
import { KubeClient } from './client/kube-client.ts'
import { kinds } from './client/kinds.ts'
import { KubeletClient } from './client/kubelet-client.ts'
import { loadKubeConfig } from './client/load-config.ts'
import { missingRights } from './client/rights.ts'
import type { KubernetesOptions } from './kubernetes-options.ts'
import { readClusterLogs } from './logs/cluster-logs.ts'
import { readCollectedLogs } from './logs/collected/collected-logs.ts'
import { LogListener } from './logs/collected/log-listener.ts'
import { readPodTail } from './logs/pod-tail.ts'
import { anchorName } from './names.ts'
import { anchorObject, secretObject, desiredStateOf } from './objects/workload-objects.ts'
import { abandonLostPods, reconcilePrograms, restartController } from './reconcile-programs.ts'
import { ClusterState } from './state/cluster-state.ts'
import { RUNS, type WorkloadState } from './state/workload-state.ts'
import { Tenants } from './tenants.ts'
import { ClusterUsage } from './usage/cluster-usage.ts'
import { WorkloadTasks } from './workload-tasks.ts'

const RUNS_MANAGER = 'shoal-runs'
const POLL_MS = 100

/**
 * Runs workloads as pods of a Kubernetes cluster. Only one runtime of an installation may be started at a time. Programs outlive it;
 * everything that the next runtime must know is in the cluster.
 */
export function createKubernetesRuntime(options: KubernetesOptions): Runtime {
  return new KubernetesRuntime(options)
}

type Cluster = {
  client: KubeClient
  kubelets: KubeletClient
  state: ClusterState
  usage: ClusterUsage
  listener: LogListener | null
}

class KubernetesRuntime implements Runtime {
  readonly name = 'kubernetes'
  readonly ownsHost = false
  readonly sharesNetwork = false
  readonly #options: KubernetesOptions
  readonly #timers: Timers
  readonly #tasks: WorkloadTasks
  readonly #tenants: Tenants
  #cluster: Cluster | null = null

  constructor(options: KubernetesOptions) {
    this.#options = options
    this.#timers = new Timers(options.clock ?? systemRuntimeClock)
    this.#tenants = new Tenants(options)
    this.#tasks = new WorkloadTasks({
      timers: this.#timers,
      log: options.log,
      reconcile: (workload) => reconcilePrograms(this.#requireCluster().client, options, workload),
    })
  }

  async start(): Promise<HostLimitation[]> {
    const { installation, kubeconfig, kubeletCaFile, logListener, clock = systemRuntimeClock, log } = this.#options
    const config = await loadKubeConfig(kubeconfig)
    const client = new KubeClient(config)
    const kubelets = new KubeletClient(config, kubeletCaFile)
    const state = new ClusterState({
      client,
      installation,
      clock,
      log,
      onChange: (workload) => this.#tasks.schedule(workload),
      onRun: (workload) => this.#tasks.schedule(workload, () => this.#storeRuns(workload)),
    })
    const listener = logListener && new LogListener(logListener)
    await listener?.start()
    this.#cluster = { client, kubelets, state, listener, usage: new ClusterUsage({ kubelets, state, clock, log }) }
    return await connectOrRetry(
      async () => {
        const missing = await missingRights(client)
        await state.start()
        for (const workload of state.workloads) this.#scheduleRetries(workload)
        const tenants = new Set([...state.workloads].flatMap(({ desired }) => desired?.tenant ?? []))
        // Not awaited, so that it does not delay programs of large installations.
        void this.#tenants.update(client, tenants, this.#tasks.closing, log)
        return missing === null ? [] : [missing]
      },
      this.#tasks.closing,
      log,
    )
  }

  async apply(workload: Workload): Promise<void> {
    await this.#tenants.within(this.#requireCluster().client, workload.tenant, () => this.#apply(workload))
  }

  async #apply(workload: Workload): Promise<void> {
    const { client, state } = this.#requireCluster()
    await this.#untilRemoved(workload)
    await this.#tasks.enqueue(anchorName(workload.id), async () => {
      const desired = desiredStateOf(workload)
      state.find(workload.tenant, workload.id)?.addRequested(desired.containers.map(({ object }) => object))
      const anchor = await client.apply(anchorObject(this.#options, desired))
      for (const spec of workload.containers)
        await client.apply(secretObject(this.#options, workload, spec, anchor.metadata.uid))
      await state.waitForAnchor(anchor)
      const current = state.find(workload.tenant, workload.id)
      current?.permitCreation()
      if (current) await this.#tasks.reconcile(current)
    })
  }

  recall(workload: Workload): void {
    this.#requireCluster().state.recall(desiredStateOf(workload))
  }

  async retry(id: WorkloadId, container: ContainerName, reason: string): Promise<void> {
    const workload = this.#requireCluster().state.findById(id)
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
    await this.#tasks.enqueue(anchorName(id), () => this.#storeRuns(workload))
  }

  async observe(workloads?: readonly WorkloadId[]): Promise<Observation[]> {
    const { state } = this.#requireCluster()
    await state.waitUntilCurrent()
    const observed = workloads?.flatMap((id) => state.findById(id) ?? []) ?? [...state.workloads]
    return observed.flatMap((workload) => workload.observations())
  }

  /** Resolves when the removal of the workload is recorded. Its containers are observed until their pods have ended. */
  async remove(id: WorkloadId): Promise<void> {
    const { client, state } = this.#requireCluster()
    await state.waitUntilCurrent()
    const workload = state.findById(id)
    if (!workload) return
    await this.#tasks.enqueue(anchorName(id), async () => {
      const anchor = await client.delete(kinds.configMap, workload.namespace, anchorName(id))
      if (anchor?.kind === 'ConfigMap') await state.waitForAnchor(anchor)
    })
  }

  async abandon(id: WorkloadId, container: ContainerName): Promise<void> {
    const { client, state } = this.#requireCluster()
    await state.waitUntilCurrent()
    const workload = state.findById(id)
    if (workload) await this.#tasks.enqueue(anchorName(id), () => abandonLostPods(client, workload, container))
  }

  tenants(): Promise<string[]> {
    return this.#tenants.list(this.#requireCluster().client)
  }

  removeTenant(tenant: string): Promise<void> {
    return this.#tenants.remove(this.#requireCluster().client, tenant)
  }

  usage(): Promise<ContainerUsage[]> {
    return this.#requireCluster().usage.measure()
  }

  logs(from: LogCursor, signal: AbortSignal, admits?: LogAdmission): AsyncIterable<LogBatch> {
    const { client, state, listener } = this.#requireCluster()
    if (listener === null) return readClusterLogs({ client, state }, from, signal, admits)
    return readCollectedLogs({ listener, state, installation: this.#options.installation }, from, signal, admits)
  }

  async tail(id: WorkloadId, container: ContainerName, lines: number): Promise<string[]> {
    const { client, state } = this.#requireCluster()
    const pod = state.findById(id)?.newestPod(container)
    return pod ? readPodTail(client, pod, container, lines) : []
  }

  async close(containers: 'stop' | 'keep'): Promise<void> {
    if (!this.#cluster) return
    if (containers === 'stop') throw new Error('Programs in a cluster cannot be stopped with the server')
    const ended = this.#tasks.close()
    this.#timers.cancelAll()
    await this.#cluster.state.close()
    await ended
    await this.#cluster.listener?.close()
    this.#cluster.kubelets.close()
    this.#cluster.client.close()
  }

  #requireCluster(): Cluster {
    if (!this.#cluster) throw new Error('The runtime was not started')
    return this.#cluster
  }

  #now(): number {
    return (this.#options.clock ?? systemRuntimeClock).now().getTime()
  }

  /** Waits until a removal of the same workload is complete. */
  async #untilRemoved({ tenant, id }: Workload): Promise<void> {
    const { state } = this.#requireCluster()
    await state.waitUntilCurrent()
    while (state.anchorOf(tenant, id)?.metadata.deletionTimestamp !== undefined) {
      await delay(POLL_MS, undefined, { signal: this.#tasks.closing })
      await state.waitUntilCurrent()
    }
  }

  async #storeRuns(workload: WorkloadState): Promise<void> {
    const { anchor, desired, namespace } = workload
    if (!anchor || !desired) return
    const metadata = { name: anchor.metadata.name, namespace, uid: anchor.metadata.uid }
    const data = { [RUNS]: workload.storedRecords() }
    await this.#requireCluster().client.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }, RUNS_MANAGER)
  }

  /** Restarts finished containers at the time that `retry` has set. */
  #scheduleRetries(workload: WorkloadState): void {
    for (const [container, { retry }] of workload.records) {
      if (!retry) continue
      const restart = async () => {
        const [controller] = workload.controllersOf(container)
        if (controller && workload.records.get(container)?.retry?.at === retry.at)
          await restartController(this.#requireCluster().client, workload, controller)
      }
      this.#timers.after(Math.max(0, Date.parse(retry.at) - this.#now()), () => this.#tasks.schedule(workload, restart))
    }
  }
}
