import { alertKinds, alertRules, IdParam, type AlertKind, type Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import { invalidField, notFound } from '../../errors.ts'
import type { Handlers } from '../call.ts'
import { existingSquids, selectSquid } from '../versions/index.ts'
import { channelHandlers } from './channels/handlers.ts'
import { listHistory, listOpen, squidIdsOf } from './event-store.ts'
import { addMute, listMutes, removeMute } from './mute-store.ts'
import { presentEvent, presentMute } from './present.ts'
import { putRule, selectChosen } from './rules/rules-store.ts'
import { rulesOf, whyNotThreshold } from './rules/rules.ts'

const pageSize = 50

export function alertsHandlers(app: App): Handlers<Contract['alerts']> {
  return {
    ...channelHandlers(app),
    list: async ({ org, query }) => {
      const rows =
        query.state === 'open'
          ? await listOpen(app.db, org.id)
          : await listHistory(app.db, org.id, {
              beforeId: query.before,
              isEnded: query.state === 'ended',
              limit: pageSize,
            })
      const existing = await existingSquids(app.db, squidIdsOf(rows))
      return rows.map((row) => presentEvent(row, existing))
    },
    listRules: async ({ org }) => rulesOf(await selectChosen(app.db, org.id)),
    changeRule: async ({ org, params, body, request }) => {
      const kind = kindOf(params.kind)
      const wrong = whyNotThreshold(kind, body.threshold)
      if (wrong) throw invalidField('threshold', wrong)
      const before = rulesOf(await selectChosen(app.db, org.id)).find((rule) => rule.kind === kind)
      const after = { kind, ...body }
      await putRule(app.db, org.id, after)
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
      request.audit({ subject: subjectOf(presented), after: presented })
      return presented
    },
    unmute: async ({ org, params, request }) => {
      const id = IdParam.safeParse(params.muteId)
      const removed = id.success ? await removeMute(app.db, org.id, id.data) : null
      if (!removed) throw notFound('Mute')
      const before = presentMute(removed)
      request.audit({ subject: subjectOf(before), before })
      return null
    },
  }
}

/** @throws Refusal 404 */
function kindOf(text: string): AlertKind {
  const kind = alertKinds.find((known) => known === text)
  if (!kind) throw notFound('Rule')
  return kind
}

function subjectOf({ kind, squid }: ReturnType<typeof presentMute>): string {
  const what = kind === null ? 'Everything' : alertRules[kind].title
  return squid === null ? what : `${what} of ${squid.name}@${squid.slot}`
}
