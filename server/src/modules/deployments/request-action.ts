import { squidCan, TagName, type SquidAction } from '@shoal/contract'
import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import type { Db } from '../../db/database.ts'
import { invalidField, notFound, refuse } from '../../errors.ts'
import type { Actor, OrgScope } from '../call.ts'
import { findSquid, lookUpSquid, parseReference, selectSquid, tagsOf, type SquidRow } from '../versions/index.ts'
import { listKeptImages } from './images-store.ts'
import { squidStatusOf } from '../squids/index.ts'
import { enqueue } from './enqueue.ts'
import { requestKeyOf } from './request-key.ts'
import { capRefusal, computeRefusal } from './requirements.ts'
import { lockOrg } from '../orgs/index.ts'
import { selectRecentDelete, selectDuplicate, selectUnfinishedOf, type DeploymentRow } from './store.ts'

/** A request that is repeated within this time gets the result of the first one. */
const repeatedMs = minutes(1)
const maxTags = 50

export type Action = { reference: string } & (
  | { type: 'RESTART' | 'HIBERNATE' | 'DELETE' }
  | { type: 'SET_TAG' | 'REMOVE_TAG'; tag: string }
  | { type: 'ROLLBACK'; deploymentId: number }
)

const rules = {
  RESTART: 'restart',
  HIBERNATE: 'hibernate',
  DELETE: 'delete',
  SET_TAG: 'changeTags',
  REMOVE_TAG: 'changeTags',
  ROLLBACK: 'rollback',
} as const satisfies Record<Action['type'], SquidAction>

/**
 * Starts the requested action on a version. A repeated request returns the deployment that the first one started.
 * @throws Refusal 404 unknown version; 405 with the reason when it cannot be done now
 */
export async function requestAction(app: App, org: OrgScope, actor: Actor, action: Action): Promise<DeploymentRow> {
  const found = await lookUpSquid(app.db, org.id, action.reference)
  if (!found && action.type === 'DELETE') return await recentDelete(app, org, actor, action.reference)
  const { id: squidId } = found ?? (await findSquid(app.db, org.id, action.reference))
  const tag = 'tag' in action ? validTag(action.tag) : null
  const sourceDeploymentId = action.type === 'ROLLBACK' ? action.deploymentId : null
  const { type } = action
  const requestKey = requestKeyOf({ kind: 'action', userId: actor.userId, squidId, type, tag, sourceDeploymentId })
  // A repeated request of these types would not find its object: it gets the finished deployment.
  const endedAfter = type === 'DELETE' || type === 'REMOVE_TAG' ? ago(app, repeatedMs) : null

  return await app.db.transaction(async (tx) => {
    const payer = await lockOrg(tx, org.id)
    const squid = await selectSquid(tx, squidId)
    const duplicate = await selectDuplicate(tx, requestKey, endedAfter)
    const isUndone = duplicate?.finishedAt && type === 'REMOVE_TAG' && (await tagsOf(tx, squidId)).includes(tag ?? '')
    if (duplicate && !isUndone) return duplicate
    if (!squid || !payer) throw notFound('Squid')
    await refuseWhileBusy(tx, squid, rules[type])
    if (type === 'RESTART' || type === 'ROLLBACK') {
      const reason = computeRefusal(payer, app.config)
      if (reason) throw refuse('ORGANIZATION_NOT_ACTIVE', reason)
      // A running version may be restarted: it costs no more than before.
      const capped = squid.wanted === 'hibernated' ? capRefusal(payer, app.config, app.clock.now()) : null
      if (capped) throw refuse('SPENDING_CAP_REACHED', capped)
    }
    const image = await imageFor(tx, squid, action)
    await checkTags(tx, squid, action.type, tag)
    return await enqueue(tx, app.clock.now(), squid, {
      type,
      userId: actor.userId,
      requestKey,
      tag,
      sourceDeploymentId,
      image,
    })
  })
}

/** @throws Refusal 405 naming the deployment in progress, or why the state of the version does not allow it */
export async function refuseWhileBusy(db: Db, squid: SquidRow, action: SquidAction): Promise<void> {
  const running = await selectUnfinishedOf(db, squid.id)
  const lastDeploy = running
    ? { id: running.id, type: running.type, status: running.status, failed: running.failed, running: true }
    : squid.lastDeploy
  const reason = squidCan[action]({ status: squidStatusOf({ wanted: squid.wanted, lastDeploy }), lastDeploy })
  if (reason) throw refuse(running ? 'DEPLOYMENT_IN_PROGRESS' : 'NOT_NOW', reason)
}

/** The client repeats a DELETE whose response got lost; the version may be deleted by then. @throws Refusal 404 */
async function recentDelete(app: App, org: OrgScope, actor: Actor, reference: string): Promise<DeploymentRow> {
  const parsed = parseReference(reference)
  const who = parsed && 'slot' in parsed ? { orgId: org.id, userId: actor.userId, ...parsed } : null
  const done = who && (await selectRecentDelete(app.db, who, ago(app, repeatedMs)))
  if (!done) throw notFound(`Squid ${reference.slice(0, 100)}`)
  return done
}

/** Null for actions that start nothing. @throws Refusal 405 when there is no image to run */
async function imageFor(db: Db, squid: SquidRow, action: Action): Promise<string | null> {
  if (action.type === 'ROLLBACK') {
    const kept = await listKeptImages(db, squid.id)
    const match = kept.find((k) => k.deploymentId === action.deploymentId)
    if (match) return match.image
    const others = kept.map((k) => k.deploymentId).join(', ')
    throw refuse(
      'NO_IMAGE',
      `The image of deployment ${action.deploymentId} is no longer kept. ${others ? `You can roll back to: ${others}.` : 'There is no deployment to roll back to.'}`,
    )
  }
  if (action.type !== 'RESTART' && action.type !== 'HIBERNATE') return null
  if (squid.image === null)
    throw refuse('NEVER_DEPLOYED', 'It was never deployed successfully, so there is nothing to run. Deploy it again.')
  return action.type === 'RESTART' ? squid.image : null
}

async function checkTags(db: Db, squid: SquidRow, type: Action['type'], tag: string | null): Promise<void> {
  if (tag === null) return
  const tags = await tagsOf(db, squid.id)
  if (type === 'REMOVE_TAG' && !tags.includes(tag))
    throw refuse('NO_SUCH_TAG', `${squid.name}@${squid.slot} has no tag "${tag}".`)
  if (type === 'SET_TAG' && !tags.includes(tag) && tags.length >= maxTags)
    throw refuse('TOO_MANY_TAGS', `A version may have ${maxTags} tags. Remove one first.`)
}

function validTag(text: string): string {
  const parsed = TagName.safeParse(text)
  if (parsed.success) return parsed.data
  throw invalidField('tag', `The tag "${text}" is not valid: 2 to 32 lowercase letters, digits and inner hyphens`)
}

const ago = (app: App, ms: number) => new Date(app.clock.now().getTime() - ms)
