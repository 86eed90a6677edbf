import type { Finding } from '@shoal/contract'
import { days, hours, minutes } from '../../clock.ts'
import { freeShare, minFreeShare } from '../../health/disk.ts'
import type { LoopReport } from '../../health/loops.ts'
import type { Replica } from '../../installation/replicas-store.ts'
import { isAlive } from './replicas.ts'
import type { MaintainedCertificate, UnfinishedRow } from './unfinished-store.ts'

/** The state from which the overview's findings are computed. `unfinished`: the deployments that have not ended. */
export type InstallationState = {
  now: Date
  replicas: Replica[]
  unfinished: Pick<UnfinishedRow, 'createdMs' | 'worker'>[]
  postgres: { name: string; isEmbedded: boolean; connections: { open: number; max: number } | null }[]
  backup: { at: Date | null; isExternal: boolean }
  certificates: MaintainedCertificate[]
}

type DatedFinding = Omit<Finding, 'since'> & { since: Date | null }

/** A worker that is not busy claims a deployment within seconds. */
const maxUnclaimedMs = minutes(2)
/** A loop is late when no round has ended for longer than the sum of its interval, the duration of its last round and this time. */
const maxLateMs = minutes(2)
const minFailedRounds = 3

/** Returns the problems of the installation, the most severe first. The limits are those of `shoal doctor` where it has the same check. */
export function installationFindings(state: InstallationState): DatedFinding[] {
  const found = [
    ...processFindings(state),
    ...loopFindings(state),
    ...queueFindings(state),
    ...postgresFindings(state),
    ...diskFindings(state),
    ...backupFindings(state),
    ...certificateFindings(state),
  ]
  return [...found.filter(({ severity }) => severity === 'bad'), ...found.filter(({ severity }) => severity === 'warn')]
}

function processFindings({ replicas }: InstallationState): DatedFinding[] {
  const alive = replicas.filter(isAlive)
  const silent = replicas.filter((replica) => !isAlive(replica))
  const hasRole = (role: string) => alive.some(({ report }) => report.roles.includes(role))
  const isActive = alive.some(({ report }) => report.worker === 'active')
  const seenTimes = silent.map(({ seenAt }) => seenAt.getTime())
  const lastSeen = seenTimes.length > 0 ? new Date(Math.max(...seenTimes)) : null
  const remedy = 'Read the log of the process, and start it again.'
  return [
    ...(isActive
      ? []
      : [
          bad(
            'worker',
            'No worker is active: squids are neither deployed nor monitored',
            lastSeen,
            'Start a process with the role worker.',
          ),
        ]),
    ...(hasRole('gateway')
      ? []
      : [
          bad(
            'gateway',
            'No gateway is running: squids cannot be reached',
            lastSeen,
            'Start a process with the role gateway.',
          ),
        ]),
    ...silent.map(({ name, seenAt, report }) =>
      warn(
        name,
        `The process (${report.roles.join(', ')}) has stopped sending heartbeats`,
        seenAt,
        `${remedy} Its entry is removed after an hour.`,
      ),
    ),
    ...alive.flatMap(({ name, report }) =>
      report.problems.map((problem) => bad(name, `It is not ready: ${problem}`, null, remedy)),
    ),
    ...(new Set(alive.map(({ report }) => report.version)).size > 1
      ? [
          warn(
            'versions',
            'Processes run different versions of Shoal',
            null,
            'Finish the upgrade: restart the processes with the older version.',
          ),
        ]
      : []),
  ]
}

/** Uses the newest report of each loop: a loop runs in one process, and a former leader still reports its last round. */
function loopFindings({ replicas, now }: InstallationState): DatedFinding[] {
  const newest = new Map<string, LoopReport & { replica: string }>()
  const timeOf = (loop: LoopReport) => Date.parse(loop.lastEndedAt ?? '') || 0
  for (const replica of replicas.filter(isAlive))
    for (const loop of replica.report.loops)
      if (timeOf(loop) >= timeOf(newest.get(loop.name) ?? loop))
        newest.set(loop.name, { ...loop, replica: replica.name })
  return [...newest.values()].flatMap((loop) => {
    const remedy = `Read the log of ${loop.replica}.`
    const isLate = now.getTime() - timeOf(loop) > loop.intervalMs + (loop.lastMs ?? 0) + maxLateMs
    const endedAt = new Date(timeOf(loop))
    if (isLate) return [bad('loops', `A round of "${loop.name}" is overdue`, endedAt, remedy)]
    return loop.failures >= minFailedRounds
      ? [bad('loops', `The last ${loop.failures} rounds of "${loop.name}" failed: ${loop.error ?? ''}`, null, remedy)]
      : []
  })
}

function queueFindings({ unfinished, now }: InstallationState): DatedFinding[] {
  const waiting = unfinished.filter(
    ({ worker, createdMs }) => worker === null && now.getTime() - createdMs > maxUnclaimedMs,
  )
  const [oldest] = waiting
  return oldest
    ? [
        warn(
          'deployments',
          `No worker has claimed ${waiting.length} ${waiting.length === 1 ? 'deployment' : 'deployments'} yet`,
          new Date(oldest.createdMs),
          'Open Deployments to see what they are waiting for.',
        ),
      ]
    : []
}

function postgresFindings({ postgres }: InstallationState): DatedFinding[] {
  return postgres.flatMap(({ name, isEmbedded, connections }) => {
    if (connections === null)
      return [
        bad(
          name,
          'It does not respond',
          null,
          isEmbedded ? 'Read its log, postgres.log.' : 'Check the URL, the network and pg_hba.conf.',
        ),
      ]
    const { open, max } = connections
    const remedy = isEmbedded
      ? 'Raise SHOAL_POSTGRES_CONNECTIONS and restart the server, or hibernate squids.'
      : 'Raise max_connections, or hibernate squids.'
    const text = `${open} of ${max} connections are open`
    if (open / max >= 0.95) return [bad(name, text, null, remedy)]
    return open / max >= 0.8 ? [warn(name, text, null, remedy)] : []
  })
}

function diskFindings({ replicas }: InstallationState): DatedFinding[] {
  const remedy = 'Delete versions or old backups, or enlarge the disk.'
  return replicas.filter(isAlive).flatMap(({ name, report: { disk } }) => {
    if (disk === null) return []
    const share = freeShare({ freeBytes: disk.free, sizeBytes: disk.size })
    const text = `${(share * 100).toFixed(1)} % of its disk is free`
    if (share < minFreeShare) return [bad(name, `${text}: programs fail to write`, null, remedy)]
    if (disk.free < disk.reserve) return [bad(name, `${text}: deployments are refused`, null, remedy)]
    return disk.free < 2 * disk.reserve ? [warn(name, `${text}: deployments will soon be refused`, null, remedy)] : []
  })
}

function backupFindings({ backup: { at, isExternal }, now }: InstallationState): DatedFinding[] {
  const remedy = 'Run shoal backup --to <file> on a timer, to another disk.'
  if (isExternal) return []
  if (at === null) return [warn('backup', 'No backup exists', null, remedy)]
  const ageMs = now.getTime() - at.getTime()
  // Backups are expected daily, with two hours of tolerance.
  if (ageMs <= hours(26)) return []
  return [(ageMs > days(7) ? bad : warn)('backup', 'No recent backup exists', at, remedy)]
}

function certificateFindings({ certificates, now }: InstallationState): DatedFinding[] {
  return certificates.flatMap(({ name, validUntilMs, failures, lastError }) => {
    const remedy =
      'Point the DNS record of this name to this installation, and make ports 80 and 443 reachable for the certificate authority. Shoal retries automatically.'
    const failure = lastError === null ? '' : `; ${failures} orders failed: ${lastError}`
    if (validUntilMs === null)
      return lastError === null ? [] : [warn(name, `It has no certificate${failure}`, null, remedy)]
    const leftMs = validUntilMs - now.getTime()
    if (leftMs <= 0) return [bad(name, `Its certificate has expired${failure}`, new Date(validUntilMs), remedy)]
    return leftMs < days(14)
      ? [warn(name, `Its certificate expires in ${Math.floor(leftMs / days(1))} days${failure}`, null, remedy)]
      : []
  })
}

const bad = (subject: string, text: string, since: Date | null, remedy: string): DatedFinding => ({
  severity: 'bad',
  subject,
  text,
  since,
  remedy,
})
const warn = (subject: string, text: string, since: Date | null, remedy: string): DatedFinding => ({
  severity: 'warn',
  subject,
  text,
  since,
  remedy,
})
