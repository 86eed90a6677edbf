import { can, type Contract } from '@shoal/contract'
import { randomUUID } from 'node:crypto'
import { parseId } from '../../parse-id.ts'
import type { App } from '../../../app.ts'
import { invalidField, notFound, refuse } from '../../../errors.ts'
import type { Handlers, Request } from '../../call.ts'
import { notificationEmail } from '../../orgs/index.ts'
import { existingSquids } from '../../versions/index.ts'
import { squidIdsOf } from '../event-store.ts'
import {
  addChannel,
  changeChannel,
  ensureEmailChannel,
  listChannels,
  removeChannel,
  selectChannel,
  type ChannelRow,
} from './channel-store.ts'
import { channelOffMessage, deliver, attemptDeadline } from './deliver.ts'
import { sendDeliveryJob } from './delivery-queue.ts'
import {
  addDeliveries,
  failPending,
  lastDelivery,
  listDeliveries,
  selectDelivery,
  type DeliveryRow,
} from './delivery-store.ts'
import { testMessage } from './message.ts'
import { channelUrlContext, presentChannel, presentDelivery, signingSecretContext, targetOf } from './present.ts'
import { isPrivateUrl } from './network-access.ts'
import { sendOptionsOf } from './send.ts'
import { newSigningSecret } from './webhook.ts'

/** Number of deliveries per page. */
const pageSize = 50
/** Maximum number of channels per organization, including the email channel. */
const maxChannels = 20

type ChannelEndpoints =
  | 'listChannels'
  | 'addChannel'
  | 'changeChannel'
  | 'removeChannel'
  | 'testChannel'
  | 'listDeliveries'
  | 'replayDelivery'

export function channelHandlers(app: App): Pick<Handlers<Contract['alerts']>, ChannelEndpoints> {
  const sendOptions = sendOptionsOf(app)

  async function present(row: ChannelRow, mayChange = true) {
    const email = row.type === 'email' ? await notificationEmail(app.db, row.orgId) : null
    return presentChannel(app.sealer, row, email, await lastDelivery(app.db, row.id), mayChange)
  }

  async function findChannel(orgId: number, text: string): Promise<ChannelRow> {
    const row = await selectChannel(app.db, orgId, parseId(text, 'Channel'))
    if (!row) throw notFound('Channel')
    return row
  }

  /** @throws Refusal 400 for a URL with credentials or a forbidden host */
  function checkedUrl(text: string): URL {
    const url = new URL(text)
    if (url.username || url.password) throw invalidField('url', 'Must not contain a user name or password')
    if (isPrivateUrl(url) && !app.config.SHOAL_ALERTS_ALLOW_PRIVATE)
      throw invalidField('url', 'Must be an address on the public internet')
    return url
  }

  /** Returns the audited fields. They contain only the host of the URL, since the paths of many webhook URLs are credentials. */
  function auditFieldsOf(row: ChannelRow) {
    const { type, name, isEnabled } = row
    return { type, name, isEnabled, host: targetOf(app.sealer, row)?.host }
  }

  /** Sends a message while the caller waits. If this process dies in the meantime, the job sends it later. */
  async function sendNow(
    { inTransaction }: Request,
    channel: ChannelRow,
    message: Pick<DeliveryRow, 'eventId' | 'what' | 'label' | 'body'>,
  ) {
    const now = app.clock.now()
    const { id: channelId, orgId } = channel
    const jobId = randomUUID()
    const deadline = attemptDeadline(now)
    const newDelivery = {
      ...message,
      channelId,
      orgId,
      createdAt: now,
      tries: 1,
      lastTriedAt: now,
      nextTryAt: deadline,
      jobId,
    }
    const deliveries = await inTransaction(async () => {
      await sendDeliveryJob(app, newDelivery, { delayMs: deadline.getTime() - now.getTime(), isRetry: true })
      return await addDeliveries(app.db, [newDelivery])
    })
    await deliver(app, sendOptions, { channel, jobId, deliveries }, new AbortController().signal)
    const sent = deliveries[0] && (await selectDelivery(app.db, orgId, deliveries[0].id))
    if (!sent) throw notFound('Delivery')
    return presentDelivery(sent, await existingSquids(app.db, squidIdsOf([sent.event])))
  }

  return {
    listChannels: async ({ org }) => {
      await ensureEmailChannel(app.db, org.id, app.clock.now())
      const mayChange = can(org, 'alerts.write')
      return await Promise.all((await listChannels(app.db, org.id)).map((row) => present(row, mayChange)))
    },
    addChannel: async ({ org, body, request }) => {
      const url = checkedUrl(body.url)
      const signingSecret = body.type === 'webhook' ? newSigningSecret() : null
      const now = app.clock.now()
      await ensureEmailChannel(app.db, org.id, now)
      const { type, name } = body
      const row = await addChannel(app.db, { orgId: org.id, type, name, createdAt: now }, maxChannels, (id) => ({
        sealedUrl: app.sealer.seal(url.href, channelUrlContext(id)),
        sealedSigningSecret: signingSecret && app.sealer.seal(signingSecret, signingSecretContext(id)),
      }))
      if (!row)
        throw refuse(
          'TOO_MANY_CHANNELS',
          `An organization can have at most ${maxChannels} channels. Remove one that is not needed.`,
        )
      request.audit({ subject: name, after: auditFieldsOf(row) })
      return { channel: await present(row), signingSecret }
    },
    changeChannel: async ({ org, params, body, request }) => {
      const before = await findChannel(org.id, params.channelId)
      const { name, isEnabled } = body
      if (body.url !== undefined && before.type === 'email')
        throw invalidField('url', "The email channel always uses the organization's confirmed address")
      const url = body.url === undefined ? null : checkedUrl(body.url)
      const sealedUrl = url && { sealedUrl: app.sealer.seal(url.href, channelUrlContext(before.id)) }
      const row = await changeChannel(app.db, org.id, before.id, { name, isEnabled, ...sealedUrl })
      if (!row) throw notFound('Channel')
      if (!row.isEnabled) await failPending(app.db, row.id, channelOffMessage)
      request.audit({ subject: row.name, before: auditFieldsOf(before), after: auditFieldsOf(row) })
      return await present(row)
    },
    removeChannel: async ({ org, params, request }) => {
      const row = await findChannel(org.id, params.channelId)
      if (row.type === 'email')
        throw refuse('EMAIL_CHANNEL', 'The email channel cannot be removed. Turn it off instead.')
      request.audit({ subject: row.name, before: { type: row.type, name: row.name } })
      await removeChannel(app.db, org.id, row.id)
      return null
    },
    testChannel: async ({ org, params, request }) => {
      const channel = await findChannel(org.id, params.channelId)
      request.audit({ subject: channel.name })
      const { code, name } = org
      const body = testMessage(randomUUID(), { organization: { code, name }, at: app.clock.now() })
      return await sendNow(request, channel, { eventId: null, what: 'TEST', label: body.label, body })
    },
    listDeliveries: async ({ org, query }) => {
      const rows = await listDeliveries(app.db, org.id, { beforeId: query.before, limit: pageSize })
      const existing = await existingSquids(app.db, squidIdsOf(rows.map(({ event }) => event)))
      return rows.map((row) => presentDelivery(row, existing))
    },
    replayDelivery: async ({ org, params, request }) => {
      const found = await selectDelivery(app.db, org.id, parseId(params.deliveryId, 'Delivery'))
      if (!found) throw notFound('Delivery')
      const { eventId, what, label, body } = found.delivery
      request.audit({ subject: `${label} to ${found.channel.name}` })
      return await sendNow(request, found.channel, { eventId, what, label, body })
    },
  }
}
