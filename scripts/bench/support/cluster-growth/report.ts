import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../root.ts'
import { type Chart, drawChart } from '../growth/chart.ts'
import { type Row, mergeMeasurements, replaceBetween, tableOf } from '../growth/table.ts'
import { type ClusterMeasurement, parts } from './measure.ts'
import { sumOf } from './requests.ts'

const page = join(root, 'docs/scale.md')
const resultsFile = join(root, 'docs/scale-kubernetes.json')
const chartFile = (name: string) => join(root, `docs/images/scale-kubernetes-${name}.svg`)
const markers = [
  '<!-- Begin of the measurements on Kubernetes -->',
  '<!-- End of the measurements on Kubernetes -->',
] as const

const partNames = {
  driver: 'the driver',
  apiServer: 'the API server',
  etcd: 'etcd',
  controllerManager: 'the controller manager',
  scheduler: 'the scheduler',
}

/** Returns the share of a core that a part uses while nothing changes. */
export const idleCores = ({ idle }: ClusterMeasurement, part: (typeof parts)[number]): number =>
  idle.cpuSeconds[part] / idle.seconds

/** Returns the requests in a minute while nothing changes. */
export const idleRequests = ({ idle }: ClusterMeasurement, of: 'driver' | 'others'): number =>
  ((of === 'driver' ? sumOf(idle.requests.driver) : idle.requests.others) / idle.seconds) * 60

const phaseRows = (phase: 'start' | 'adoption' | 'removal'): Row<ClusterMeasurement>[] => [
  { name: `${phase}: CPU of the driver, s`, valueOf: (m) => m[phase].cpuSeconds.driver, hasFit: true },
  {
    name: `${phase}: CPU of API server and etcd, s`,
    valueOf: (m) => m[phase].cpuSeconds.apiServer + m[phase].cpuSeconds.etcd,
    hasFit: true,
  },
]

const rows: Row<ClusterMeasurement>[] = [
  ...parts.map((part) => ({
    name: `idle: memory of ${partNames[part]}, MB`,
    valueOf: (m: ClusterMeasurement) => m.memoryMb[part],
    hasFit: true,
  })),
  ...parts.map((part) => ({
    name: `idle: CPU of ${partNames[part]}, % of a core`,
    valueOf: (m: ClusterMeasurement) => 100 * idleCores(m, part),
    hasFit: true,
  })),
  { name: 'idle: requests of the driver a minute', valueOf: (m) => idleRequests(m, 'driver') },
  { name: 'idle: requests of other programs a minute', valueOf: (m) => idleRequests(m, 'others'), hasFit: true },
  { name: 'idle: one observation of all containers, ms', valueOf: (m) => m.observeMs, hasFit: true },
  { name: 'start: until all workloads were applied, s', valueOf: (m) => m.applySeconds, hasFit: true },
  { name: 'start: until all programs ran, s', valueOf: (m) => m.start.seconds, hasFit: true },
  { name: 'start: requests of the driver', valueOf: (m) => sumOf(m.start.requests.driver), hasFit: true },
  { name: 'start: requests of other programs', valueOf: (m) => m.start.requests.others, hasFit: true },
  ...phaseRows('start'),
  { name: 'adoption: until the first complete observation, s', valueOf: (m) => m.adoption.seconds, hasFit: true },
  {
    name: 'adoption: requests of the driver until then',
    valueOf: (m) => sumOf(m.adoption.requests.driver),
    hasFit: true,
  },
  { name: 'adoption: all its requests', valueOf: (m) => sumOf(m.adoptionRequests), hasFit: true },
  ...phaseRows('adoption'),
  { name: 'removal: until nothing was left, s', valueOf: (m) => m.removal.seconds, hasFit: true },
  { name: 'removal: requests of the driver', valueOf: (m) => sumOf(m.removal.requests.driver), hasFit: true },
  ...phaseRows('removal'),
  { name: 'removal: database of etcd at the end, MB', valueOf: (m) => m.etcdMb, hasFit: true },
  { name: 'load average', valueOf: (m) => m.loadAverage },
]

function charts(measurements: ClusterMeasurement[]): Record<string, Chart> {
  const lines = (valueOf: (m: ClusterMeasurement, part: (typeof parts)[number]) => number) =>
    parts.map((part) => ({
      name: partNames[part].replace('the ', ''),
      points: measurements.map((m): [number, number] => [m.versions, Math.max(valueOf(m, part), 0.0001)]),
    }))
  return {
    memory: {
      title: 'Memory of the driver and of an idle control plane',
      unit: 'MB',
      series: lines((m, part) => m.memoryMb[part]),
    },
    cpu: { title: 'CPU of the driver and of an idle control plane', unit: 'cores', series: lines(idleCores) },
  }
}

/** Merges the measurements with those of earlier runs at other sizes, and writes the table and charts of docs/scale.md. */
export function writeReport(measured: ClusterMeasurement[]): void {
  const measurements = mergeMeasurements(resultsFile, measured)
  for (const [name, chart] of Object.entries(charts(measurements))) writeFileSync(chartFile(name), drawChart(chart))
  replaceBetween(page, markers, tableOf(measurements, rows))
}
