import { Slot, type DeployRequest } from '@shoal/contract'
import { randomInt } from 'node:crypto'
import type { App } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import { invalidField, refuse, type Refusal } from '../../errors.ts'
import type { Actor, OrgScope } from '../call.ts'
import { countSquids, insertSquid, selectSquidBySlot, type SquidRow } from '../versions/index.ts'
import { enqueue } from './enqueue.ts'
import { checkOnlyOrg } from './one-org.ts'
import { checkActionAllowed } from './request-action.ts'
import { requestKeyOf } from './request-key.ts'
import { checkMayDeploy } from './requirements.ts'
import { lockOrg } from '../orgs/index.ts'
import { selectByRequestKey, type DeploymentRow } from './store.ts'
import { findArtifact } from './uploads.ts'

/**
 * Starts the deployment of an archive: a new version, or an update of the one in the slot. The same archive with the same options
 * from the same user counts as the same request, even after the deployment has ended.
 * @param refusalOfNew - thrown if the request is not a repeated one
 * @throws Refusal 400 for an invalid slot; 405 when the organization may not deploy, or while another deployment is in progress
 */
export async function requestDeploy(
  app: App,
  org: OrgScope,
  actor: Actor,
  { artifactUrl, manifestPath, options }: DeployRequest,
  refusalOfNew: Refusal | null,
): Promise<DeploymentRow> {
  const { overrideName: name, hardReset, tag = null } = options
  const slot = options.overrideSlot ? parseSlot(options.overrideSlot) : null
  const upload = await findArtifact(app, org.id, artifactUrl)
  const requestKey = requestKeyOf({
    kind: 'deploy',
    userId: actor.userId,
    upload: upload.id,
    manifestPath,
    name,
    slot,
    tag,
    hardReset,
  })
  return await app.db.transaction(async (tx) => {
    const payer = await lockOrg(tx, org.id)
    const duplicate = await selectByRequestKey(tx, requestKey)
    if (duplicate) return duplicate
    if (refusalOfNew) throw refusalOfNew
    checkMayDeploy(payer, app.config, app.clock.now())
    await checkOnlyOrg(tx, org.id)
    const existing = slot ? await selectSquidBySlot(tx, org.id, name, slot) : null
    if (existing) await checkActionAllowed(tx, existing, 'deploy')
    const squid = existing ?? (await addSquid(tx, org, name, slot, app.clock.now()))
    return await enqueue(tx, app.clock.now(), squid, {
      type: hardReset ? 'DEPLOY_HARD_RESET' : 'DEPLOY',
      userId: actor.userId,
      requestKey,
      tag,
      uploadId: upload.id,
      manifestPath,
      isSlotGenerated: slot === null,
    })
  })
}

/** Adds the row of a new version before its build, so that lists show the version. @throws Refusal 405 at the limit of squids */
async function addSquid(tx: Db, org: OrgScope, name: string, slot: string | null, at: Date): Promise<SquidRow> {
  if ((await countSquids(tx, org.id)) >= org.squidsLimit)
    throw refuse(
      'TOO_MANY_SQUIDS',
      org.isPlayground
        ? 'A playground runs one squid. Delete it first (sqd remove), update it (sqd deploy with its slot), or create an organization.'
        : `The organization already has its maximum of ${org.squidsLimit} squids. Delete one, or ask support to raise the limit.`,
    )
  return await insertSquid(tx, {
    orgId: org.id,
    name,
    slot: slot ?? (await generateSlot(tx, org.id, name)),
    createdAt: at,
  })
}

/** Generates an unused slot of six lowercase letters and digits. Slots like `v12` are reserved for `version` in manifests. */
async function generateSlot(tx: Db, orgId: number, name: string): Promise<string> {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'
  while (true) {
    const slot = Array.from({ length: 6 }, () => alphabet[randomInt(alphabet.length)]).join('')
    if (!/^v\d+$/.test(slot) && !(await selectSquidBySlot(tx, orgId, name, slot))) return slot
  }
}

function parseSlot(text: string): string {
  const parsed = Slot.safeParse(text)
  if (parsed.success) return parsed.data
  throw invalidField(
    'options.overrideSlot',
    `The slot "${text}" is not valid: 2 to 6 lowercase letters, digits and inner hyphens`,
  )
}
