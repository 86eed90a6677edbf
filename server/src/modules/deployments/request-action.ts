import { squidActionChecks, TagName, type SquidAction } from '@shoal/contract'
import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import type { Db } from '../../db/database.ts'
import { invalidField, notFound, refuse } from '../../errors.ts'
import type { Actor, OrgScope } from '../call.ts'
import { resolveReference, selectSquid, tagsOf, type SquidRow } from '../versions/index.ts'
import { listKeptImages } from './images-store.ts'
import { checkOnlyOrg } from './one-org.ts'
import { squidStatusOf } from '../squids/index.ts'
import { enqueue } from './enqueue.ts'
import { displayedTypeOf } from './deployment-type.ts'
import { requestKeyOf } from './request-key.ts'
import { capRefusal, programsRefusal } from './requirements.ts'
import { lockOrg } from '../orgs/index.ts'
import { selectRecentDelete, selectDuplicate, selectUnfinished, type DeploymentRow } from './store.ts'

/** A request that is repeated within this time returns the result of the first one. */
const repeatWindowMs = minutes(1)
const maxTags = 50

/** An action on a version that a user requests. `reference` is `name@slot` or `name:tag`. */
export type Action = { reference: string } & (
  | { type: 'RESTART' | 'HIBERNATE' | 'DELETE' }
  | { type: 'SET_TAG' | 'REMOVE_TAG'; tag: string }
  | { type: 'ROLLBACK'; deploymentId: number }
)

const actionOfType = {
  RESTART: 'restart',
  HIBERNATE: 'hibernate',
  DELETE: 'delete',
  SET_TAG: 'changeTags',
  REMOVE_TAG: 'changeTags',
  ROLLBACK: 'rollback',
} as const satisfies Record<Action['type'], SquidAction>

/**
 * Starts the requested action on a version. A repeated request returns the deployment that the first one started.
 * @throws Refusal 404 when the version does not exist; 405 with the reason when the action is not possible now
 */
export async function requestAction(app: App, org: OrgScope, actor: Actor, action: Action): Promise<DeploymentRow> {
  const { reference, squid: found } = await resolveReference(app.db, org.id, action.reference)
  if (!found) {
    const deletion =
      action.type === 'DELETE' &&
      reference &&
      'slot' in reference &&
      (await findRecentDelete(app, org, actor, reference))
    if (deletion) return deletion
    throw notFound(`Squid ${action.reference.slice(0, 100)}`)
  }
  const squidId = found.id
  const tag = 'tag' in action ? parseTag(action.tag) : null
  const sourceDeploymentId = action.type === 'ROLLBACK' ? action.deploymentId : null
  const { type } = action
  const requestKey = requestKeyOf({ kind: 'action', userId: actor.userId, squidId, type, tag, sourceDeploymentId })
  // After these actions the version or tag no longer exists, so a repeated request returns the finished deployment.
  const endedAfter = type === 'DELETE' || type === 'REMOVE_TAG' ? timeBefore(app, repeatWindowMs) : null

  return await app.db.transaction(async (tx) => {
    const payer = await lockOrg(tx, org.id)
    const squid = await selectSquid(tx, squidId)
    const duplicate = await selectDuplicate(tx, requestKey, endedAfter)
    const wasTagSetAgain =
      duplicate?.finishedAt && type === 'REMOVE_TAG' && (await tagsOf(tx, squidId)).includes(tag ?? '')
    if (duplicate && !wasTagSetAgain) return duplicate
    if (!squid || !payer) throw notFound('Squid')
    await checkActionAllowed(tx, squid, actionOfType[type])
    if (type === 'RESTART' || type === 'ROLLBACK') {
      const reason = programsRefusal(payer, app.config)
      if (reason) throw refuse('ORGANIZATION_NOT_ACTIVE', reason)
      // A running version may be restarted: it costs no more than before.
      const capReason = squid.desiredState === 'hibernated' ? capRefusal(payer, app.config, app.clock.now()) : null
      if (capReason) throw refuse('SPENDING_CAP_REACHED', capReason)
      if (type === 'ROLLBACK' || squid.desiredState === 'hibernated') await checkOnlyOrg(tx, org.id)
    }
    const image = await findImage(tx, squid, action)
    await checkTags(tx, squid, action.type, tag)
    return await enqueue(tx, app.clock.now(), squid, {
      type,
      userId: actor.userId,
      requestKey,
      tag,
      sourceDeploymentId,
      isRedeploy: type === 'ROLLBACK' && image === squid.image,
      image,
    })
  })
}

/** @throws Refusal 405 naming the deployment in progress, or why the state of the version does not allow it */
export async function checkActionAllowed(db: Db, squid: SquidRow, action: SquidAction): Promise<void> {
  const running = await selectUnfinished(db, squid.id)
  const lastDeploy = running
    ? { id: running.id, type: displayedTypeOf(running), status: running.status, failed: running.failed, running: true }
    : squid.lastDeploy
  const reason = squidActionChecks[action]({
    status: squidStatusOf({ desiredState: squid.desiredState, lastDeploy }),
    lastDeploy,
  })
  if (reason) throw refuse(running ? 'DEPLOYMENT_IN_PROGRESS' : 'NOT_NOW', reason)
}

/** Returns the deletion that the user has just requested: the client repeats a DELETE whose response was lost. */
const findRecentDelete = (app: App, org: OrgScope, actor: Actor, version: { name: string; slot: string }) =>
  selectRecentDelete(app.db, { orgId: org.id, userId: actor.userId, ...version }, timeBefore(app, repeatWindowMs))

/** Returns the image to run; null for actions that start no programs. @throws Refusal 405 when the image does not exist */
async function findImage(db: Db, squid: SquidRow, action: Action): Promise<string | null> {
  if (action.type === 'ROLLBACK') {
    const keptImages = await listKeptImages(db, squid.id)
    const match = keptImages.find((image) => image.deploymentId === action.deploymentId)
    if (match) return match.image
    const others = keptImages.map((image) => image.deploymentId).join(', ')
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

function parseTag(text: string): string {
  const parsed = TagName.safeParse(text)
  if (parsed.success) return parsed.data
  throw invalidField('tag', `The tag "${text}" is not valid: 2 to 32 lowercase letters, digits and inner hyphens`)
}

const timeBefore = (app: App, ms: number) => new Date(app.clock.now().getTime() - ms)
