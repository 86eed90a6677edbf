// A process with only the Kubernetes driver, so that its CPU and memory can be measured. The benchmark sends it commands.
import { setTimeout as delay } from 'node:timers/promises'
import { mapConcurrently } from '../../../../runtime/src/concurrency.ts'
import { createKubernetesRuntime } from '../../../../runtime/src/kubernetes/kubernetes-runtime.ts'
import { ordinaryWorkload, versionsPerOrg } from '../growth/workload.ts'
import { median } from '../result.ts'

/** The reconcile loop of the server changes this many versions at the same time. */
const maxConcurrent = 16
/** The worker observes all containers at this interval. */
const observeMs = 1000
const pollMs = 250
const unchangedMs = 120_000

const [, , kubeconfig = ''] = process.argv
/** The default settings of the server. */
const runtime = createKubernetesRuntime({
  installation: 'growth',
  kubeconfig,
  kubeletCaFile: null,
  logListener: null,
  quota: { pods: '100', 'limits.cpu': '64', 'limits.memory': '128Gi' },
  cpuRequestRatio: 0.25,
  runtimeClass: null,
  containerDiskBytes: 2 ** 30,
  ingressFrom: [{ cidr: '127.0.0.1/32' }],
  egressTo: [],
  registryAuth: null,
  log: (message) => console.error(`  driver: ${message}`),
})

const idOf = (version: number) => `${version}-1`

/** Calls a function for each version from 1 to `versions`, as concurrently as the server does. */
const forEachVersion = async (versions: number, work: (version: number) => Promise<void>) =>
  void (await mapConcurrently(
    Array.from({ length: versions }, (_, index) => index + 1),
    maxConcurrent,
    work,
  ))

/** Observes until a condition holds. @throws if the numbers of containers by state do not change for two minutes */
async function untilObserved(holds: (states: string[]) => boolean): Promise<void> {
  let [last, deadline] = ['', Number.POSITIVE_INFINITY]
  for (;;) {
    const states = (await runtime.observe()).map(({ state }) => state)
    if (holds(states)) return
    const groups = Object.entries(Object.groupBy(states, (state) => state))
    const counts = groups.map(([state, list]) => `${list?.length} ${state}`).join(', ') || 'none'
    if (counts !== last) [last, deadline] = [counts, performance.now() + unchangedMs]
    if (performance.now() > deadline)
      throw new Error(`For ${unchangedMs / 60_000} minutes, the containers have been: ${counts}`)
    await delay(pollMs)
  }
}

let observing: NodeJS.Timeout | null = null

const commands = {
  start: async () => {
    const limitations = await runtime.start()
    if (limitations.length > 0) throw new Error(limitations.join(' '))
  },
  apply: (versions: number) =>
    forEachVersion(versions, (version) => {
      const tenant = String(Math.floor((version - 1) / versionsPerOrg))
      return runtime.apply(ordinaryWorkload({ id: idOf(version), tenant, version: String(version) }))
    }),
  /** Waits until the api and the processor of each version are observed as running. */
  untilRunning: (versions: number) =>
    untilObserved((states) => states.filter((state) => state === 'running').length === 2 * versions),
  remove: (versions: number) => forEachVersion(versions, (version) => runtime.remove(idOf(version))),
  untilRemoved: () => untilObserved((states) => states.length === 0),
  /** From now on, observes all containers once a second, as the worker does. */
  keepObserving: () => {
    observing ??= setInterval(() => void runtime.observe().catch(() => undefined), observeMs)
  },
  /** Returns the median duration of `times` observations in milliseconds. */
  timeObserve: async (times: number) => {
    const durations: number[] = []
    for (let index = 0; index < times; index++) {
      const startedMs = performance.now()
      await runtime.observe()
      durations.push(performance.now() - startedMs)
      await delay(pollMs)
    }
    return median(durations)
  },
}

export type Commands = typeof commands
export type Command = { id: number; name: keyof Commands; args: number[] }
export type Reply = { id: number; result?: unknown; error?: string }

process.on('message', async ({ id, name, args }: Command) => {
  const reply: Reply = { id }
  try {
    const command: (...values: number[]) => unknown = commands[name]
    reply.result = await command(...args)
  } catch (error) {
    reply.error = (error as Error).message
  }
  process.send?.(reply)
})
// The benchmark has ended, even if it was killed.
process.once('disconnect', () => process.exit())
