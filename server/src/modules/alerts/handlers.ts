import { alertKinds, alertRules, type AlertKind, type Contract } from '@shoal/contract'
import { parseId } from '../parse-id.ts'
import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import { invalidField, notFound } from '../../errors.ts'
import type { Handlers } from '../call.ts'
import { existingSquids, selectSquid } from '../versions/index.ts'
import { channelHandlers } from './channels/handlers.ts'
import { listAlertHistory, listOpenAlerts, squidIdsOf } from './event-store.ts'
import { addMute, listMutes, deleteMute } from './mute-store.ts'
import { presentEvent, presentMute } from './present.ts'
import { saveRule, listChangedRules } from './rules/rules-store.ts'
import { rulesOf, thresholdError } from './rules/rules.ts'

/** Number of alerts per page of the history. */
const pageSize = 50

export function alertsHandlers(app: App): Handlers<Contract['alerts']> {
  return {
    ...channelHandlers(app),
    list: async ({ org, query }) => {
      const rows =
        query.state === 'open'
          ? await listOpenAlerts(app.db, org.id)
          : await listAlertHistory(app.db, org.id, {
              beforeId: query.before,
              isEnded: query.state === 'ended',
              limit: pageSize,
            })
      const existing = await existingSquids(app.db, squidIdsOf(rows))
      return rows.map((row) => presentEvent(row, existing))
    },
    listRules: async ({ org }) => rulesOf(await listChangedRules(app.db, org.id)),
    changeRule: async ({ org, params, body, request }) => {
      const kind = parseKind(params.kind)
      const error = thresholdError(kind, body.threshold)
      if (error) throw invalidField('threshold', error)
      const before = rulesOf(await listChangedRules(app.db, org.id)).find((rule) => rule.kind === kind)
      const after = { kind, ...body }
      await saveRule(app.db, org.id, after)
      request.audit({ subject: alertRules[kind].title, before, after })
      return after
    },
    listMutes: async ({ org }) => (await listMutes(app.db, org.id, app.clock.now())).map(presentMute),
    mute: async ({ org, actor, body, request }) => {
      const squid = body.squidId === null ? null : await selectSquid(app.db, body.squidId)
      if (body.squidId !== null && squid?.orgId !== org.id) throw notFound('Squid')
      const mute = await addMute(app.db, {
        orgId: org.id,
        kind: body.kind,
        squidId: squid?.id ?? null,
        squidName: squid?.name ?? null,
        squidSlot: squid?.slot ?? null,
        until: new Date(app.clock.now().getTime() + minutes(body.minutes)),
        createdBy: actor.fullName || actor.email,
      })
      const presented = presentMute(mute)
      request.audit({ subject: muteLabel(presented), after: presented })
      return presented
    },
    unmute: async ({ org, params, request }) => {
      const removed = await deleteMute(app.db, org.id, parseId(params.muteId, 'Mute'))
      if (!removed) throw notFound('Mute')
      const before = presentMute(removed)
      request.audit({ subject: muteLabel(before), before })
      return null
    },
  }
}

/** @throws Refusal 404 for an unknown kind */
function parseKind(text: string): AlertKind {
  const kind = alertKinds.find((candidate) => candidate === text)
  if (!kind) throw notFound('Rule')
  return kind
}

function muteLabel({ kind, squid }: ReturnType<typeof presentMute>): string {
  const title = kind === null ? 'Everything' : alertRules[kind].title
  return squid === null ? title : `${title} of ${squid.name}@${squid.slot}`
}
