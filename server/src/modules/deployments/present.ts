import type { Deployment } from '@shoal/contract'
import type { Clock } from '../../clock.ts'
import type { Db } from '../../db/database.ts'
import type { OrgScope } from '../call.ts'
import { deploymentsWithKeptImage } from './images-store.ts'
import { displayedTypeOf } from './deployment-type.ts'
import { stepsOf } from './plans.ts'
import { listLastLogs, listLogs, type LogRow } from './log-store.ts'
import { listSteps, type DeploymentWithUser, selectDeployment, type StepRow } from './store.ts'

/** The number of lines per deployment in a list. A single deployment is returned with its whole log. */
const listLogLines = 200

type Line = Pick<LogRow, 'severity' | 'message' | 'at'>
type Parts = { steps: StepRow[]; logs: Line[]; isImageKept: boolean }

/** Returns a deployment with its log from line `logsAfter` on; null when the organization has no such deployment. */
export async function presentDeployment(
  db: Db,
  clock: Clock,
  org: OrgScope,
  id: number,
  logsAfter?: number,
): Promise<Deployment | null> {
  const found = await selectDeployment(db, org.id, id)
  if (!found) return null
  const [steps, logs, keptIds] = await Promise.all([
    listSteps(db, [id]),
    listLogs(db, id, logsAfter),
    deploymentsWithKeptImage(db, [id]),
  ])
  return present(found, org, clock.now(), { steps, logs, isImageKept: keptIds.has(id) })
}

/** Returns deployments for a list; with `hasLogs`, each includes the last lines of its log. */
export async function presentDeployments(
  db: Db,
  clock: Clock,
  org: OrgScope,
  found: DeploymentWithUser[],
  hasLogs: boolean,
): Promise<Deployment[]> {
  const ids = found.map((f) => f.deployment.id)
  if (ids.length === 0) return []
  const [steps, keptIds, lines] = await Promise.all([
    listSteps(db, ids),
    deploymentsWithKeptImage(db, ids),
    hasLogs ? listLastLogs(db, ids, listLogLines) : [],
  ])
  const stepsById = Map.groupBy(steps, (step) => step.deploymentId)
  const linesById = Map.groupBy(lines, (line) => line.deploymentId)
  return found.map((f) => {
    const { id } = f.deployment
    const parts = { steps: stepsById.get(id) ?? [], logs: linesById.get(id) ?? [], isImageKept: keptIds.has(id) }
    return present(f, org, clock.now(), parts)
  })
}

function present({ deployment: d, user }: DeploymentWithUser, org: OrgScope, now: Date, parts: Parts): Deployment {
  const end = d.finishedAt ?? now
  return {
    id: d.id,
    type: displayedTypeOf(d),
    status: d.status,
    failed: d.failed,
    logs: parts.logs.map(({ severity, message, at }) => ({ severity, message, at: at.toISOString() })),
    steps: parts.steps.map((s) => ({
      status: s.status,
      startedAt: s.startedAt.toISOString(),
      elapsedMs: s.finishedAt || d.finishedAt ? elapsed(s.startedAt, s.finishedAt ?? end) : null,
    })),
    plan: stepsOf(d).map(({ status }) => status),
    failureReason: d.failureReason,
    organization: { id: org.id, code: org.code, name: org.name },
    user,
    squid: {
      id: d.squidId,
      name: d.squidName,
      slot: d.squidSlot,
      reference: `${d.squidName}@${d.squidSlot}`,
    },
    options: { tag: d.tag, hardReset: d.type === 'DEPLOY_HARD_RESET' },
    image: parts.isImageKept ? d.image : null,
    totalElapsedTimeMs: elapsed(d.createdAt, end),
    createdAt: d.createdAt.toISOString(),
    updatedAt: d.updatedAt.toISOString(),
  }
}

const elapsed = (from: Date, to: Date) => Math.max(0, to.getTime() - from.getTime())
