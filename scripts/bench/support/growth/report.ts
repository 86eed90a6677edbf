import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../root.ts'
import { type Chart, drawChart } from './chart.ts'
import type { LoopTimes, Measurement } from './measure.ts'
import { type Row, digits, markdownTable, mergeMeasurements, replaceBetween, sizesOf, tableOf } from './table.ts'

const page = join(root, 'docs/scale.md')
const resultsFile = join(root, 'docs/scale.json')
const chartFile = (name: string) => join(root, `docs/images/scale-${name}.svg`)
const markers = ['<!-- Begin of the measurements -->', '<!-- End of the measurements -->'] as const

/** The share of its period that a loop's rounds take, in percent. */
export const shareOf = ({ meanMs, periodMs }: LoopTimes): number => (100 * meanMs) / periodMs

/** Returns the loops that take the largest share of their period, largest first. */
export const slowestLoops = (loops: LoopTimes[]): LoopTimes[] => loops.toSorted((a, b) => shareOf(b) - shareOf(a))

const gigabytes = (bytes: number) => bytes / 1e9
const millions = (count: number) => count / 1e6

const rows: Row<Measurement>[] = [
  { name: 'CPU of the server, cores', valueOf: (m) => m.serverCores, hasFit: true },
  { name: 'CPU of Postgres, cores', valueOf: (m) => m.postgresCores, hasFit: true },
  { name: 'memory of the server, MB', valueOf: (m) => m.serverMb, hasFit: true },
  { name: 'memory of Postgres, MB', valueOf: (m) => m.postgresMb, hasFit: true },
  { name: 'slowest loop, % of its period', valueOf: (m) => Math.max(...m.loops.map(shareOf)) },
  { name: '`/healthz` p50, ms', valueOf: (m) => m.health.p50 },
  { name: '`/healthz` p99, ms', valueOf: (m) => m.health.p99 },
  { name: 'list of one organization p50, ms', valueOf: (m) => m.list.p50 },
  { name: 'list of one organization p99, ms', valueOf: (m) => m.list.p99 },
  { name: 'inserted rows, millions a day', valueOf: (m) => millions(m.insertedRowsPerDay), hasFit: true },
  { name: 'updated rows, millions a day', valueOf: (m) => millions(m.updatedRowsPerDay), hasFit: true },
  { name: 'inserted rows with indexes, GB a day', valueOf: (m) => gigabytes(m.insertedBytesPerDay), hasFit: true },
  { name: 'write-ahead log, GB a day', valueOf: (m) => gigabytes(m.walBytesPerDay), hasFit: true },
  { name: 'connections to Postgres', valueOf: (m) => m.connections },
  {
    name: 'time until all programs run after a restart, s',
    valueOf: (m) => m.adoptionSeconds ?? Number.NaN,
    hasFit: true,
  },
]

function table(measurements: Measurement[]): string {
  const names = slowestLoops(measurements.at(-1)?.loops ?? []).slice(0, 10)
  const loopLines = names.map(({ name, periodMs }) => {
    const cell = (m: Measurement) => {
      const loop = m.loops.find((candidate) => candidate.name === name)
      return loop ? `${digits(loop.meanMs)} (${digits(shareOf(loop))} %)` : ''
    }
    return [`${name}, every ${digits(periodMs / 1000)} s`, ...measurements.map(cell)]
  })
  return [
    tableOf(measurements, rows),
    '',
    'Mean duration of a round of the ten slowest loops, in ms, and its share of the period:',
    '',
    markdownTable([sizesOf(measurements), ...loopLines]),
  ].join('\n')
}

function charts(measurements: Measurement[]): Record<string, Chart> {
  const line = (name: string, valueOf: (m: Measurement) => number) => ({
    name,
    points: measurements.map((m): [number, number] => [m.versions, Math.max(valueOf(m), 0.001)]),
  })
  const slowest = slowestLoops(measurements.at(-1)?.loops ?? []).slice(0, 5)
  return {
    cpu: {
      title: 'CPU of an idle installation',
      unit: 'cores',
      target: 1,
      series: [line('server', (m) => m.serverCores), line('Postgres', (m) => m.postgresCores)],
    },
    memory: {
      title: 'Memory of an idle installation',
      unit: 'MB',
      target: 1024,
      series: [line('server', (m) => m.serverMb), line('Postgres', (m) => m.postgresMb)],
    },
    loops: {
      title: 'Rounds of the five slowest loops',
      unit: '% of the period',
      target: 20,
      series: slowest.map(({ name }) =>
        line(name, ({ loops }) => Math.max(0, ...loops.filter((loop) => loop.name === name).map(shareOf))),
      ),
    },
    times: {
      title: 'Latencies, and the time until all programs run after a restart',
      unit: 'seconds',
      target: 60,
      series: [
        line('all programs run', (m) => m.adoptionSeconds ?? 0),
        line('list p99', (m) => m.list.p99 / 1000),
        line('list p50', (m) => m.list.p50 / 1000),
        line('/healthz p99', (m) => m.health.p99 / 1000),
      ],
    },
  }
}

/** Merges the measurements with those of earlier runs at other sizes, and writes the table and charts of docs/scale.md. */
export function writeReport(measured: Measurement[]): void {
  const measurements = mergeMeasurements(resultsFile, measured)
  for (const [name, chart] of Object.entries(charts(measurements))) writeFileSync(chartFile(name), drawChart(chart))
  replaceBetween(page, markers, table(measurements))
}
