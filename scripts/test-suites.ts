/** Suites that use an S3 server, whose first build takes minutes. Without it, the tests that need it are skipped. */
export const s3Suites = [
  'server/src/artifacts',
  'server/src/modules/deployments/archives.test.ts',
  'e2e/slow/separate-hosts.test.ts',
]

/** A suite on a cluster that uses an S3 server. */
export const clusterS3Suites = ['e2e/kubernetes/chart.test.ts']

/** Suites that use Pebble, an ACME authority, whose first build takes minutes. Without it, the tests that need it are skipped. */
export const pebbleSuites = [
  'server/src/modules/certificates/orders.test.ts',
  'server/src/modules/certificates/renewals.test.ts',
  'e2e/slow/certificates-leader.test.ts',
  'server/src/modules/domains/domains.test.ts',
  'e2e/console/slow/domains.test.ts',
]

/** The suite of `npm run test:full` that uses Pebble. */
export const fullPebbleSuites = ['e2e/full/install-acme.test.ts']

/**
 * Suites for several kinds of host. `npm test` runs each for the first kind that this host supports, `npm run test:slow` for the others
 * (`npm run test:full` in the case of `program-ends`).
 */
const kindSuites = [
  'adoption',
  'isolated-program',
  'isolation',
  'limits',
  'process-driver',
  'stopping',
  'work-folder',
].map((name) => `runtime/src/process/${name}.test.ts`)

/** Long suites outside the slow folders, which `npm test` does not run. */
const slowOnly = [
  'runtime/src/build/build-disk.test.ts',
  'runtime/src/build/build-isolation.test.ts',
  'runtime/src/images/registry-builder.test.ts',
  'runtime/src/postgres/split-cluster.test.ts',
  'runtime/src/process/disk/disks.test.ts',
  'runtime/src/process/network/pasta-network.test.ts',
  'runtime/src/process/unrecorded.test.ts',
  'scripts/dev.test.ts',
  'server/src/doctor/doctor.test.ts',
  'server/src/modules/alerts/rules/month.test.ts',
  'server/src/modules/deployments/lost-host.test.ts',
  'server/src/modules/deployments/move-database.test.ts',
  'server/src/modules/deployments/resume.test.ts',
  'server/src/modules/logs/move/move.test.ts',
  'server/src/modules/logs/move/refusals.test.ts',
  'server/src/startup/open-postgres.test.ts',
  ...pebbleSuites,
]

/** Suites that `npm run test:slow` runs. `npm test` excludes the project `slow`. */
export const slowSuites = ['e2e/slow', 'e2e/console/slow', ...s3Suites, 'e2e/hostile', ...kindSuites, ...slowOnly]

/** Arguments that exclude the slow suites. */
export const quickTests = [
  '--project=!slow',
  ...['e2e/console/slow/**', ...slowOnly].flatMap((path) => ['--exclude', path]),
]

/** Suites with a full matrix or a large sample, which `npm run test:full` runs. */
export const fullSuites = [
  'server/src/modules/deployments/resume.test.ts',
  'e2e/slow/client-refusals.test.ts',
  'e2e/slow/connection.test.ts',
  'e2e/slow/health.test.ts',
  'e2e/slow/installation.test.ts',
  'e2e/slow/kill.test.ts',
  'e2e/slow/move-runtime.test.ts',
  'e2e/slow/roles.test.ts',
  'e2e/full',
  'e2e/console',
  'e2e/hostile/archives.test.ts',
  'e2e/hostile/logs.test.ts',
  'e2e/hostile/postgres.test.ts',
  'runtime/src/build/hostile-archives.test.ts',
  'runtime/src/postgres/split-cluster.test.ts',
  'runtime/src/process/disk/disks.test.ts',
  'runtime/src/process/program-ends.test.ts',
]

const onCluster = (names: string[]): string[] => names.map((name) => `e2e/kubernetes/${name}.test.ts`)

/**
 * Suites on a cluster that CI runs after the others, in about twelve minutes on two cores. Only `npm run test:kubernetes` runs suites that
 * need another program from Go modules (the collector, Helm, kwok, the S3 server), many builds, or minutes of load.
 */
export const quickClusterSuites = onCluster([
  'api-server',
  'cluster',
  'policies',
  'driver',
  'driver-suite',
  'refusals',
  'interruption',
  'startup',
  'lost-node',
  'usage',
  'chart-rights',
  'fence',
  'program-ends',
])

/** Suites on a cluster that `npm run test:full` runs: those that CI does not run, and those with longer samples. */
export const fullClusterSuites = onCluster([
  'build-faults',
  'builds',
  'chart',
  'collector',
  'deploy',
  'fake-cluster',
  'faults',
  'images',
  'kill',
  'load',
  'log-rate',
  'lost-logs',
  'move-runtime',
  'postgres-operator',
  'program-ends',
  'reasons',
  'restored-cluster',
])
