import type { Squid } from '@shoal/contract'
import { hours } from '../../clock.ts'
import { crashReason, isCrashLooping, isoTime, whyStuck } from './present-processor.ts'
import type { PresentedRow, SeenContainer, SeenProcessor } from './present-store.ts'

type Alert = Squid['alerts'][number]
type Disk = NonNullable<Squid['addons']['postgres']>['disk']

/** A program that ran out of memory is worth a word for this long. */
const memoryAlertMs = hours(24)

type Alarming = {
  squid: Pick<PresentedRow, 'lastDeploy' | 'processors' | 'secretsReadAtMs' | 'secretNames' | 'image'>
  status: Squid['status']
  disk: Disk | null
  /** Of the generation that serves. */
  containers: SeenContainer[]
  processors: SeenProcessor[]
  /** Of the organization: when each was last set. */
  secrets: ReadonlyMap<string, Date>
  nowMs: number
}

/** What people should know about a version, the worst first (spec 4). */
export function alertsOf(of: Alarming): Alert[] {
  const alerts = [
    ...diskAlerts(of.disk),
    ...of.containers.flatMap((row) => containerAlerts(row, of.nowMs)),
    ...of.containers.flatMap((row) => stuckAlerts(row, of)),
    ...deployAlerts(of),
    ...(of.status === 'HIBERNATED' ? [] : secretsAlerts(of)),
  ]
  return alerts.sort((a, b) => Number(a.severity === 'WARNING') - Number(b.severity === 'WARNING'))
}

function diskAlerts(disk: Disk | null): Alert[] {
  if (disk?.usageStatus !== 'WARNING' && disk?.usageStatus !== 'CRITICAL') return []
  const share = Math.floor((disk.usedBytes / disk.totalBytes) * 100)
  const isFull = disk.usedBytes >= disk.totalBytes
  const consequence = isFull ? 'It can only be read now.' : 'When it is full, nothing more can be written.'
  return [
    {
      label: 'Low database space',
      severity: disk.usageStatus,
      reason: `${share} % of the database's room is used. ${consequence} Raise scale.addons.postgres.storage in the manifest and deploy again.`,
      since: null,
    },
  ]
}

function containerAlerts(row: SeenContainer, nowMs: number): Alert[] {
  const since = isoTime(row.sinceMs)
  const alerts: Alert[] = []
  if (isCrashLooping(row, nowMs))
    alerts.push({ label: `${row.container} keeps crashing`, severity: 'CRITICAL', reason: crashReason(row), since })
  if (row.isOutOfMemory && nowMs - row.sinceMs < memoryAlertMs)
    alerts.push({
      label: `${row.container} ran out of memory`,
      severity: row.state === 'running' ? 'WARNING' : 'CRITICAL',
      reason:
        'It used more memory than its profile has. Choose a larger profile under scale in the manifest and deploy again.',
      since,
    })
  return alerts
}

/** A crash loop has a word of its own. */
function stuckAlerts(row: SeenContainer, { squid, processors, nowMs }: Alarming): Alert[] {
  if (!squid.processors.includes(row.container) || isCrashLooping(row, nowMs)) return []
  const seen = processors.find(({ processor }) => processor === row.container)
  const stuck = whyStuck(row, seen, nowMs)
  if (!stuck) return []
  const reason = stuck.reason ?? `It ended with code ${row.exitCode}.`
  return [{ label: `${row.container} is stuck`, severity: 'CRITICAL', reason, since: isoTime(stuck.sinceMs) }]
}

function deployAlerts({ squid: { lastDeploy, image } }: Alarming): Alert[] {
  if (!lastDeploy || lastDeploy.running || lastDeploy.failed === 'NO') return []
  const consequence = image === null ? 'Nothing runs.' : 'What ran before goes on.'
  return [
    {
      label: 'Last deploy was finished with an error',
      severity: image === null ? 'CRITICAL' : 'WARNING',
      reason: `Deployment ${lastDeploy.id} failed. ${consequence} Its log under Deployments says why and what to do.`,
      since: null,
    },
  ]
}

function secretsAlerts({ squid: { secretsReadAtMs, secretNames }, secrets }: Alarming): Alert[] {
  if (secretsReadAtMs === null) return []
  const changes = secretNames.map((name) => ({ name, atMs: secrets.get(name)?.getTime() ?? 0 }))
  const since = changes.filter(({ atMs }) => atMs > secretsReadAtMs)
  if (since.length === 0) return []
  return [
    {
      label: 'Secrets are outdated',
      severity: 'WARNING',
      reason: `Changed since its programs were started: ${since.map(({ name }) => name).join(', ')}. Restart it to apply them.`,
      since: isoTime(Math.max(...since.map(({ atMs }) => atMs))),
    },
  ]
}
