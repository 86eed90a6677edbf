import { IdParam, type Contract } from '@shoal/contract'
import { randomBytes } from 'node:crypto'
import type { App } from '../../../app.ts'
import { notFound, refuse } from '../../../errors.ts'
import type { Handlers } from '../../call.ts'
import { getOrg } from '../../orgs/index.ts'
import {
  addChannel,
  addDeliveries,
  changeChannel,
  ensureEmailChannel,
  lastDeliveries,
  listChannels,
  listDeliveries,
  removeChannel,
  selectChannel,
  selectDelivery,
  type ChannelRow,
} from './channel-store.ts'
import { channelUrlContext, presentChannel, presentDelivery, signingSecretContext } from './present.ts'

const pageSize = 50

type ChannelVerbs =
  | 'listChannels'
  | 'addChannel'
  | 'changeChannel'
  | 'removeChannel'
  | 'testChannel'
  | 'listDeliveries'
  | 'replayDelivery'

export function channelHandlers(app: App): Pick<Handlers<Contract['alerts']>, ChannelVerbs> {
  const answer = async (orgId: number, rows: ChannelRow[]) => {
    const [org, last] = await Promise.all([getOrg(app.db, orgId), lastDeliveries(app.db, orgId)])
    return rows.map((row) => presentChannel(app.sealer, row, org.email, last.get(row.id)))
  }
  const one = async (row: ChannelRow) => {
    const [channel] = await answer(row.orgId, [row])
    if (!channel) throw new Error('A channel has no answer')
    return channel
  }
  const find = async (orgId: number, text: string): Promise<ChannelRow> => {
    const row = await selectChannel(app.db, orgId, idOf(text, 'Channel'))
    if (!row) throw notFound('Channel')
    return row
  }
  return {
    listChannels: async ({ org }) => {
      await ensureEmailChannel(app.db, org.id, app.clock.now())
      return await answer(org.id, await listChannels(app.db, org.id))
    },
    addChannel: async ({ org, body, request }) => {
      const signingSecret = body.type === 'webhook' ? randomBytes(32).toString('base64url') : null
      const row = await addChannel(
        app.db,
        { orgId: org.id, type: body.type, name: body.name, createdAt: app.clock.now() },
        (id) => ({
          sealedUrl: app.sealer.seal(body.url, channelUrlContext(id)),
          sealedSigningSecret: signingSecret && app.sealer.seal(signingSecret, signingSecretContext(id)),
        }),
      )
      const channel = await one(row)
      request.audit({ subject: channel.name, after: channel })
      return { channel, signingSecret }
    },
    changeChannel: async ({ org, params, body, request }) => {
      const before = await find(org.id, params.channelId)
      const row = await changeChannel(app.db, org.id, before.id, body)
      if (!row) throw notFound('Channel')
      request.audit({ subject: row.name, before: { name: before.name, isEnabled: before.isEnabled }, after: body })
      return await one(row)
    },
    removeChannel: async ({ org, params, request }) => {
      const row = await find(org.id, params.channelId)
      if (row.type === 'email')
        throw refuse('EMAIL_CHANNEL', 'The e-mail channel cannot be removed. Turn it off instead.')
      request.audit({ subject: row.name, before: await one(row) })
      await removeChannel(app.db, org.id, row.id)
      return null
    },
    testChannel: async ({ org, params, request }) => {
      const channel = await find(org.id, params.channelId)
      const now = app.clock.now()
      const [delivery] = await addDeliveries(app.db, [
        {
          orgId: org.id,
          channelId: channel.id,
          what: 'TEST',
          label: 'Test',
          body: { what: 'TEST' },
          createdAt: now,
          nextTryAt: now,
        },
      ])
      if (!delivery) throw new Error('The test was not written')
      request.audit({ subject: channel.name })
      return presentDelivery({ delivery, channel })
    },
    listDeliveries: async ({ org, query }) =>
      (await listDeliveries(app.db, org.id, { beforeId: query.before, limit: pageSize })).map(presentDelivery),
    replayDelivery: async ({ org, params, request }) => {
      const found = await selectDelivery(app.db, org.id, idOf(params.deliveryId, 'Delivery'))
      if (!found) throw notFound('Delivery')
      const { channelId, eventId, what, label, body } = found.delivery
      const now = app.clock.now()
      const [delivery] = await addDeliveries(app.db, [
        { orgId: org.id, channelId, eventId, what, label, body, createdAt: now, nextTryAt: now },
      ])
      if (!delivery) throw new Error('The delivery was not written')
      request.audit({ subject: `${label} to ${found.channel.name}` })
      return presentDelivery({ delivery, channel: found.channel })
    },
  }
}

/** @throws Refusal 404 */
function idOf(text: string, what: string): number {
  const parsed = IdParam.safeParse(text)
  if (!parsed.success) throw notFound(what)
  return parsed.data
}
