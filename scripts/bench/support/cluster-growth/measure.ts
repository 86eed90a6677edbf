import { readdirSync, statSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { FakeCluster } from '../../../kubernetes/fake-cluster.ts'
import { withProgress } from '../../../progress.ts'
import { usageOf } from '../growth/processes.ts'
import { DriverProcess } from './driver-process.ts'
import { type Requests, type RequestsOf, RequestCounter, requestsBetween, sumOf } from './requests.ts'

/** The processes that are measured. */
export const parts = ['driver', 'apiServer', 'etcd', 'controllerManager', 'scheduler'] as const
type PerPart = Record<(typeof parts)[number], number>

/** One phase: how long it took, the CPU time of each process, and the requests to the API server. */
type Phase = { seconds: number; cpuSeconds: PerPart; requests: RequestsOf }

/** What one number of versions needs. */
export type ClusterMeasurement = {
  versions: number
  /** The load average of one minute at the end of the measurement of the idle cluster. */
  loadAverage: number
  /** From the first call of `apply` until all calls have resolved. */
  applySeconds: number
  /** From the first call of `apply` until all programs were observed as running. */
  start: Phase
  /** The cluster without changes. */
  idle: Phase
  memoryMb: PerPart
  /** The database of etcd at the end. Its file never shrinks. */
  etcdMb: number
  observeMs: number
  /** From the start of another process until its first complete observation. */
  adoption: Phase
  /** The requests of that process until it sends no more. */
  adoptionRequests: Record<string, number>
  /** From the first call of `remove` until nothing was observed any more. */
  removal: Phase
}

export type Durations = { settleMs: number; idleMs: number }

const observations = 21
/** A process that has sent no request for this time has finished its start. */
const quietMs = 3_000

/** Measures one number of versions in a new cluster, and removes them. */
export async function measureCluster(
  cluster: FakeCluster,
  versions: number,
  { settleMs, idleMs }: Durations,
): Promise<ClusterMeasurement> {
  await using cleanup = new AsyncDisposableStack()
  const counter = new RequestCounter(cluster)
  cleanup.defer(() => counter.close())
  const startDriver = () => {
    const driver = new DriverProcess(cluster.shoalKubeconfig)
    cleanup.defer(() => driver.kill())
    return driver
  }
  let driver = startDriver()
  const phase = (what: string, work: () => Promise<unknown>) =>
    withProgress(`${versions} versions: ${what}`, () => measurePhase(cluster, counter, () => driver, work))

  await driver.call('start')
  let applySeconds = Number.NaN
  const start = await phase('start all programs', async () => {
    const startedMs = performance.now()
    await driver.call('apply', versions)
    applySeconds = (performance.now() - startedMs) / 1000
    await driver.call('untilRunning', versions)
  })
  await driver.call('keepObserving')
  await delay(settleMs)
  const idle = await phase('measure while nothing changes', () => delay(idleMs))
  const memoryMb = usageOfParts(cluster, driver, ({ memoryMb: value }) => value)
  const [loadAverage = Number.NaN] = loadavg()
  const observeMs = await driver.call('timeObserve', observations)
  await driver.kill()

  // The watches of the killed process count as requests when they have ended.
  const requestsBefore = await untilQuiet(counter)
  const adoption = await phase('start another driver', async () => {
    driver = startDriver()
    await driver.call('start')
    await driver.call('untilRunning', versions)
  })
  const adoptionRequests = requestsBetween(requestsBefore, await untilQuiet(counter)).driver
  const removal = await phase('remove all', async () => {
    await driver.call('remove', versions)
    await driver.call('untilRemoved')
  })
  const etcdMb = folderMb(join(cluster.folder, 'etcd/member/snap'))
  return {
    versions,
    loadAverage,
    applySeconds,
    start,
    idle,
    memoryMb,
    etcdMb,
    observeMs,
    adoption,
    adoptionRequests,
    removal,
  }
}

/** Measures what happens during `work`, which may replace the process of the driver by another one, whose CPU time then counts. */
async function measurePhase(
  cluster: FakeCluster,
  counter: RequestCounter,
  driver: () => DriverProcess,
  work: () => Promise<unknown>,
): Promise<Phase> {
  const cpu = () => usageOfParts(cluster, driver(), ({ cpuSeconds }) => cpuSeconds)
  const requestsBefore: Requests = await counter.read()
  const driverBefore = driver()
  const cpuBefore = cpu()
  const startedMs = performance.now()
  await work()
  const seconds = (performance.now() - startedMs) / 1000
  const cpuSeconds = cpu()
  const requests = requestsBetween(requestsBefore, await counter.read())
  if (driver() !== driverBefore) cpuBefore.driver = 0
  for (const part of parts) cpuSeconds[part] -= cpuBefore[part]
  return { seconds, cpuSeconds, requests }
}

function usageOfParts(
  { processes }: FakeCluster,
  driver: DriverProcess,
  valueOf: (usage: ReturnType<typeof usageOf>) => number,
): PerPart {
  const of = (pid: number | undefined) => valueOf(usageOf(pid ?? 0))
  const { apiServer, etcd, controllerManager, scheduler } = processes
  return {
    driver: of(driver.pid),
    apiServer: of(apiServer.pid),
    etcd: of(etcd.pid),
    controllerManager: of(controllerManager.pid),
    scheduler: of(scheduler.pid),
  }
}

/** Waits until the driver sends no more requests, and returns those that it has sent. */
async function untilQuiet(counter: RequestCounter): Promise<Requests> {
  for (let before = await counter.read(); ;) {
    await delay(quietMs)
    const after = await counter.read()
    if (sumOf(requestsBetween(before, after).driver) === 0) return after
    before = after
  }
}

/** The size of the files directly in a folder. */
const folderMb = (folder: string): number =>
  readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0) / 2 ** 20
