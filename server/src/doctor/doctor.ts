import { installationPaths } from '../backup/paths.ts'
import { systemClock, type Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { liveHolders, locksDir } from '../installation/holders.ts'
import { existsSync } from 'node:fs'
import { certificatesCheck } from './check-certificates.ts'
import { clockCheck } from './check-clock.ts'
import { backupCheck, diskCheck, keysCheck } from './check-files.ts'
import { hostCheck, limitsCheck } from './check-host.ts'
import { postgresCheck } from './check-postgres.ts'
import { portsCheck, serverCheck } from './check-server.ts'
import { bucketCheck, clusterCheck, mailCheck, nodesCheck, registryCheck } from './check-services.ts'
import { clusterReader } from './clusters.ts'
import { failed, reasonOf, type Check, type CheckResult, type CheckStatus, type Examined } from './check.ts'

const checks: Check[] = [
  serverCheck,
  portsCheck,
  diskCheck,
  limitsCheck,
  hostCheck,
  clockCheck,
  postgresCheck,
  keysCheck,
  mailCheck,
  nodesCheck,
  backupCheck,
  certificatesCheck,
  registryCheck,
  clusterCheck,
  bucketCheck,
]

/** `status`: the worst of all checks. */
export type DoctorReport = { status: Exclude<CheckStatus, 'skipped'>; checks: CheckResult[] }

const timeoutMs = 30_000

/** Checks everything that an installation depends on, with or without a running server. Never rejects; takes at most half a minute. */
export async function examine(config: Config, clock: Clock = systemClock): Promise<DoctorReport> {
  // The functions below would create a missing data directory.
  const exists = existsSync(config.dataDir)
  const servers = exists ? liveHolders(locksDir(config)).filter(({ roles }) => roles.length > 0) : []
  const stateDir = exists ? installationPaths(config).stateDir : config.dataDir
  const examined = { config, clock, stateDir, servers, readClusters: clusterReader({ config, clock, stateDir }) }
  const results = await Promise.all(checks.map((check) => runCheck(check, examined)))
  const all = results.flat()
  const has = (status: CheckStatus) => all.some((result) => result.status === status)
  return { status: has('failed') ? 'failed' : has('warning') ? 'warning' : 'ok', checks: all }
}

async function runCheck({ name, run }: Check, examined: Examined): Promise<CheckResult[]> {
  const timedOut = Promise.withResolvers<never>()
  const timer = setTimeout(() => timedOut.reject(new Error('it did not end within 30 seconds')), timeoutMs)
  try {
    return await Promise.race([run(examined), timedOut.promise])
  } catch (error) {
    return [failed(name, `could not be checked: ${reasonOf(error)}`, 'Fix the named problem, and run the check again.')]
  } finally {
    clearTimeout(timer)
  }
}

const nameWidth = 19

/** Formats a report for terminals: one line for each check, and below it what to do. */
export function formatReport({ status, checks: results }: DoctorReport): string {
  const lines = results.flatMap(({ name, status: state, finding, remedy }) => [
    `${state.padEnd(8)} ${name.padEnd(nameWidth)} ${finding}`,
    ...(remedy === null ? [] : [`${' '.repeat(nameWidth + 10)}→ ${remedy}`]),
  ])
  const count = (state: CheckStatus) => results.filter((result) => result.status === state).length
  const summary = `${status}: ${count('ok')} ok, ${count('warning')} warnings, ${count('failed')} failed, ${count('skipped')} skipped`
  return [...lines, summary, ''].join('\n')
}
