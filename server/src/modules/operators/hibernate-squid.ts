import type { App } from '../../app.ts'
import { refuse } from '../../errors.ts'
import type { AuditEntry } from '../call.ts'
import { systemAction } from '../deployments/index.ts'
import { addNotice, findSquid } from '../versions/index.ts'
import { lockOrgByCode } from './find-org.ts'

/** The container whose log shows the reason. */
const noticeContainer = 'api'

/**
 * Hibernates a version of any organization, and writes the reason to its log. Returns the entry for the audit log.
 * @throws Refusal 404 for an unknown organization or version; 405 during a deployment, or if there is nothing to hibernate
 */
export async function hibernateSquid(
  app: App,
  { code, reference }: { code: string; reference: string },
  reason: string,
): Promise<AuditEntry> {
  const org = await lockOrgByCode(app, code)
  const squid = await findSquid(app.db, org.id, reference)
  const name = `${squid.name}@${squid.slot}`
  const outcome = await systemAction(app, squid.id, 'HIBERNATE', 'operator')
  if (outcome === 'busy')
    throw refuse('DEPLOYMENT_IN_PROGRESS', `${name} is being deployed. Try again when the deployment has ended.`)
  if (outcome !== 'started') throw refuse('NOT_NOW', `${name} is not running, so there is nothing to hibernate.`)
  await addNotice(app.db, {
    squidId: squid.id,
    at: app.clock.now(),
    container: noticeContainer,
    message: `The operator has hibernated this version: ${reason} You can restart it.`,
  })
  return {
    orgIds: [org.id],
    subject: name,
    before: { desiredState: squid.desiredState },
    after: { desiredState: 'hibernated', reason },
  }
}
