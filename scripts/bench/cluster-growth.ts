import { buildTool, kwok } from '../kubernetes/go-tool.ts'
import { CannotBuild, missingGo } from '../kubernetes/go.ts'
import { startFakeCluster } from '../kubernetes/fake-cluster.ts'
import { buildPrograms } from '../kubernetes/programs.ts'
import { withProgress } from '../progress.ts'
import { type ClusterMeasurement, type Durations, measureCluster } from './support/cluster-growth/measure.ts'
import { idleCores, idleRequests, writeReport } from './support/cluster-growth/report.ts'
import { type Bench, type Result, atMost } from './support/result.ts'

const sizes = (process.env['CLUSTER_GROWTH_SIZES'] ?? '10,100,1000').split(',').map(Number)
const durations: Durations = {
  settleMs: Number(process.env['CLUSTER_GROWTH_SETTLE_MS'] ?? 15_000),
  idleMs: Number(process.env['CLUSTER_GROWTH_MEASURED_MS'] ?? 60_000),
}
const nodeCount = 100

/** Returns the built programs, or why this machine cannot run the benchmark. */
async function preparePrograms(): Promise<{ kube: string; kwok: string } | string> {
  if (process.platform !== 'linux') return 'it needs Linux'
  // The stages of kwok are read from its module, which needs Go even if both programs are in the cache.
  const missing = await missingGo(kwok.folder)
  if (missing) return missing
  try {
    return { kube: (await buildPrograms()).kube, kwok: await buildTool(kwok) }
  } catch (error) {
    if (error instanceof CannotBuild) return error.message
    throw error
  }
}

function resultsOf(measurement: ClusterMeasurement): Result[] {
  const { versions, memoryMb, observeMs, adoption } = measurement
  const named = (what: string) => `cluster growth, ${versions} versions: ${what}`
  return [
    atMost(512, named('memory of the driver'), memoryMb.driver, 'MB'),
    atMost(0.1, named('CPU of the driver'), idleCores(measurement, 'driver'), 'cores'),
    atMost(30, named('requests of the driver'), idleRequests(measurement, 'driver'), 'a minute'),
    atMost(100, named('one observation'), observeMs, 'ms'),
    atMost(60, named('adoption by another process'), adoption.seconds, 's'),
  ]
}

export const bench: Bench = {
  name: 'cluster-growth',
  async *run() {
    const programs = await preparePrograms()
    if (typeof programs === 'string') {
      console.error(`The benchmark cluster-growth is skipped: ${programs}.`)
      return
    }
    for (const versions of sizes) {
      // Each size has a new cluster: programs do not give back the memory that a larger number of objects needed.
      const cluster = await withProgress('Starting a simulated cluster', () => startFakeCluster(programs, nodeCount))
      try {
        const measurement = await measureCluster(cluster, versions, durations)
        if (process.env['CLUSTER_GROWTH_REPORT']) writeReport([measurement])
        else console.error(JSON.stringify(measurement))
        yield* resultsOf(measurement)
      } finally {
        await cluster.end()
      }
    }
  },
}
