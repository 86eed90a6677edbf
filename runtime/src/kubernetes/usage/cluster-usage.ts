import { createInterface } from 'node:readline'
import type { RuntimeClock } from '../../clock.ts'
import type { ContainerUsage } from '../../driver.ts'
import type { KubeletClient } from '../client/kubelet-client.ts'
import type { Pod } from '../objects/object-types.ts'
import type { ClusterState } from '../state/cluster-state.ts'
import { runId, statusOf } from '../state/run-record.ts'
import type { WorkloadState } from '../state/workload-state.ts'
import { type CgroupReading, parseCadvisor } from './cadvisor.ts'

export type ClusterUsageOptions = {
  kubelets: KubeletClient
  state: ClusterState
  clock: RuntimeClock
  /** Called with messages for operators. */
  log: (message: string) => void
}

/** The maximum time until a kubelet has measured a new run. */
const FIRST_READING_MS = 30_000

/** The counters of a run at its last measurement. `podThrottled`: the throttled seconds of its pod, which include earlier runs in the pod. */
type Measured = {
  run: string
  pod: string
  cpuSeconds: number | null
  throttledSeconds: number | null
  podThrottled: number
}

/**
 * Measures containers with the metrics of their nodes' kubelets. Kubelets update these about every ten seconds, so the counters of a run
 * that ended earlier are unknown.
 */
export class ClusterUsage {
  readonly #options: ClusterUsageOptions
  readonly #measured = new Map<string, Measured>()
  /** The addresses of nodes whose failure was logged, until they respond again. */
  readonly #failed = new Set<string>()

  constructor(options: ClusterUsageOptions) {
    this.#options = options
  }

  /** Returns the usage of all containers that have run, without those on nodes that do not respond. */
  async measure(): Promise<ContainerUsage[]> {
    const workloads = [...this.#options.state.workloads]
    const addresses = workloads.flatMap(({ pods }) => [...pods.values()].flatMap((pod) => pod.status?.hostIP ?? []))
    const nodes = await Promise.all([...new Set(addresses)].map((address) => this.#readNode(address)))
    const readings = new Map(nodes.flatMap((node) => [...node]))
    const usage = workloads.flatMap((workload) => this.#usageOf(workload, readings))
    const current = new Set(usage.map(keyOf))
    for (const key of this.#measured.keys()) if (!current.has(key)) this.#measured.delete(key)
    return usage
  }

  async #readNode(address: string): Promise<Map<string, CgroupReading>> {
    try {
      const response = await this.#options.kubelets.open(address, '/metrics/cadvisor')
      const readings = await parseCadvisor(createInterface({ input: response, crlfDelay: Infinity }))
      this.#failed.delete(address)
      return readings
    } catch (error) {
      if (!this.#failed.has(address))
        this.#options.log(`The usage of programs on ${address} is not known: ${(error as Error).message}`)
      this.#failed.add(address)
      return new Map()
    }
  }

  #usageOf(workload: WorkloadState, readings: Map<string, CgroupReading>): ContainerUsage[] {
    const { desired } = workload
    return (desired?.containers ?? []).flatMap(({ name: container, resources }) => {
      const ids = { workload: desired?.id ?? '', container }
      const limits = { cpuLimitCores: resources.cpuCores, memoryLimitBytes: resources.memoryBytes }
      const last = workload.records.get(container)?.last
      const pod = workload.newestPod(container)
      const running = pod && runningOf(pod)
      if (pod && running) {
        const measured = this.#measureRun(keyOf(ids), pod, running, readings) ?? this.#atStart(running)
        return measured ? [{ ...ids, ...limits, ...measured, oomKills: null }] : []
      }
      if (!last) return []
      const measured = this.#measured.get(keyOf(ids))
      const { cpuSeconds = null, throttledSeconds = null } = measured?.run === last.id ? measured : {}
      const ended = { run: last.id, at: this.#options.clock.now(), memoryBytes: 0, oomKills: last.oomKills }
      return [{ ...ids, ...limits, ...ended, cpuSeconds, throttledSeconds }]
    })
  }

  /** Returns the usage at the start of a new run that was not measured yet; null if the run is older. */
  #atStart({ run, startedAt }: Running) {
    const isNew = this.#options.clock.now().getTime() - startedAt.getTime() < FIRST_READING_MS
    return isNew ? { run, at: startedAt, cpuSeconds: 0, throttledSeconds: 0, memoryBytes: 0 } : null
  }

  /** Returns null if the kubelet has not measured the run yet. */
  #measureRun(key: string, pod: Pod, { run, containerId }: Running, readings: Map<string, CgroupReading>) {
    const reading = readings.get(containerId)
    if (!reading || reading.memoryBytes === null) return null
    const { cpuSeconds, memoryBytes } = reading
    const podThrottled = readings.get(pod.metadata.uid)?.throttledSeconds ?? null
    const before = this.#measured.get(key)
    const throttledSeconds = throttledOf(podThrottled, run, pod, before)
    this.#measured.set(key, {
      run,
      pod: pod.metadata.uid,
      cpuSeconds,
      throttledSeconds,
      podThrottled: podThrottled ?? before?.podThrottled ?? 0,
    })
    return { run, at: new Date(reading.atMs), cpuSeconds, throttledSeconds, memoryBytes }
  }
}

/**
 * Returns the throttled seconds of a run. Only the pod's counter is complete, since the pod's limit is the same and is often reached
 * first; but it includes earlier runs in the same pod. Returns null if the throttling of those runs is unknown.
 */
function throttledOf(podThrottled: number | null, run: string, pod: Pod, before: Measured | undefined): number | null {
  if (podThrottled === null) return null
  if (run === runId(pod, 0)) return podThrottled
  if (before?.pod !== pod.metadata.uid) return null
  const increase = podThrottled - before.podThrottled
  return before.run === run ? (before.throttledSeconds === null ? null : before.throttledSeconds + increase) : increase
}

type Running = { run: string; containerId: string; startedAt: Date }

function runningOf(pod: Pod): Running | null {
  const status = statusOf(pod)
  const running = status?.state?.running
  if (!running) return null
  // `containerd://<id>`
  const containerId = status.containerID?.replace(/^.*:\/\//, '') ?? ''
  return { run: runId(pod, status.restartCount), containerId, startedAt: new Date(running.startedAt) }
}

const keyOf = ({ workload, container }: { workload: string; container: string }): string => `${workload}/${container}`
