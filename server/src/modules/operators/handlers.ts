import type { Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import { operatorAuth } from '../auth/index.ts'
import type { Handlers, AuditEntry } from '../call.ts'
import { hibernateSquid } from './hibernate-squid.ts'
import { createOrgList } from './org-list.ts'
import { cacheFor } from '../../collections/cache-for.ts'
import { readOverview } from './overview.ts'
import { listUnfinishedDeployments } from './unfinished.ts'
import { closeSupport, openSupport } from './support.ts'
import { deleteMaintenance, saveMaintenance } from '../user/index.ts'
import { parseId } from '../parse-id.ts'
import { endAllSessionsOf, endUserSession, listSessionsOf } from './user-sessions.ts'
import { disableUser, enableUser, listUsers, resendConfirmation } from './users.ts'
import { createSquidList } from './squid-list.ts'
import { resumeOrg, suspendOrg } from './suspension.ts'
import { readUsage } from './usage-store.ts'
import { changeOrg } from '../orgs/index.ts'
import { lockOrgByCode } from './find-org.ts'

export function operatorsHandlers(app: App): Handlers<Contract['operators']> {
  // Both lists need the usage of all versions, which is computed at most every 30 seconds, because it reads many rows.
  const usage = cacheFor(app, minutes(0.5), () => readUsage(app, app.clock.now()))
  const orgList = createOrgList(app, usage)
  const squidList = createSquidList(app, usage)
  return {
    getAccess: async ({ actor }) => ({
      passwordUntil: operatorAuth.passwordUntil(actor, app.clock.now())?.toISOString() ?? null,
      hasPassword: await operatorAuth.hasPassword(app.db, actor.userId),
    }),
    confirmPassword: async ({ actor, body }) => ({
      passwordUntil: (await operatorAuth.enterPassword(app, actor, body.password)).toISOString(),
    }),
    getOverview: () => readOverview(app),
    listDeployments: () => listUnfinishedDeployments(app),
    listOrgs: ({ query }) => orgList(query),
    suspendOrg: async ({ params, body, request }) => {
      request.audit(await suspendOrg(app, params.code, body.reason))
      return { code: params.code }
    },
    resumeOrg: async ({ params, request }) => {
      request.audit(await resumeOrg(app, params.code))
      return { code: params.code }
    },
    changeLimits: async ({ params, body, request }) => {
      request.audit(await changeLimits(app, params.code, body.squids))
      return { code: params.code, squids: body.squids }
    },
    openSupport: async ({ params, actor, request }) => {
      const { until, entry } = await openSupport(app, actor, params.code)
      request.audit(entry)
      return { code: params.code, until }
    },
    closeSupport: async ({ actor, request }) => {
      request.audit(await closeSupport(app, actor))
      return { success: true }
    },
    announceMaintenance: async ({ body, request }) => {
      const { message, startsAt, endsAt, hasScreen } = body
      const announcedAt = app.clock.now()
      await saveMaintenance(app.db, {
        message,
        startsAt: new Date(startsAt),
        endsAt: new Date(endsAt),
        hasScreen,
        announcedAt,
      })
      request.audit({ after: body })
      return body
    },
    withdrawMaintenance: async () => {
      await deleteMaintenance(app.db)
      return { success: true }
    },
    listUsers: ({ query }) => listUsers(app, query),
    disableUser: async ({ params, actor, request }) => {
      request.audit(await disableUser(app, actor, parseId(params.id, 'User')))
      return { success: true }
    },
    enableUser: async ({ params, request }) => {
      request.audit(await enableUser(app, parseId(params.id, 'User')))
      return { success: true }
    },
    listSessions: async ({ params, actor, request }) => {
      const { sessions, entry } = await listSessionsOf(app, actor, parseId(params.id, 'User'))
      request.audit(entry)
      return { sessions }
    },
    endSession: async ({ params, actor, request }) => {
      request.audit(await endUserSession(app, actor, parseId(params.id, 'User'), params.sessionId))
      return { ended: 1 }
    },
    endSessions: async ({ params, actor, request }) => {
      const { ended, entry } = await endAllSessionsOf(app, actor, parseId(params.id, 'User'))
      request.audit(entry)
      return { ended }
    },
    resendConfirmation: async ({ params, request }) => {
      request.audit(await resendConfirmation(app, parseId(params.id, 'User')))
      return { success: true }
    },
    listSquids: ({ query }) => squidList(query),
    hibernateSquid: async ({ params, body, request }) => {
      request.audit(await hibernateSquid(app, params, body.reason))
      return { reference: params.reference }
    },
  }
}

/**
 * Changes how many squids an organization may have. Existing squids above the new limit are kept. Returns the entry for the audit log.
 * @throws Refusal 404 for an unknown code
 */
async function changeLimits(app: App, code: string, squids: number): Promise<AuditEntry> {
  const org = await lockOrgByCode(app, code)
  await changeOrg(app.db, org.id, { squidsLimit: squids })
  return { orgIds: [org.id], subject: org.code, before: { squids: org.squidsLimit }, after: { squids } }
}
