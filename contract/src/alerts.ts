import { z } from 'zod'
import { alertKinds, alertSeverities } from './alert-rules.ts'
import { endpoint } from './endpoint.ts'
import { Id, IdParam, Time } from './fields.ts'

/** A version as it was called then. */
export const AlertSquid = z.object({ id: Id, name: z.string(), slot: z.string() })
export type AlertSquid = z.infer<typeof AlertSquid>

/** An alert is open until its cause is gone, and history from then on. */
export const AlertEvent = z.object({
  id: Id,
  kind: z.enum(alertKinds),
  severity: z.enum(alertSeverities),
  /** Null for what concerns the organization as a whole. Alerts outlive the version they speak of. */
  squid: AlertSquid.extend({ isDeleted: z.boolean() }).nullable(),
  /** `api`, `db`, a processor's name; of a quota `spend` or `rpc`; null when it is about the version or the organization. */
  container: z.string().nullable(),
  label: z.string(),
  /** Sentences: why, and what to do. */
  reason: z.string(),
  startedAt: Time,
  /** Null while it is open. */
  endedAt: Time.nullable(),
  /** Nobody was told: it was muted when it began, and still is if it is open. */
  isMuted: z.boolean(),
})
export type AlertEvent = z.infer<typeof AlertEvent>

export const AlertRule = z.object({
  kind: z.enum(alertKinds),
  isEnabled: z.boolean(),
  /** In the unit of `alertRules`; null where there is nothing to choose. */
  threshold: z.number().int().nullable(),
})
export type AlertRule = z.infer<typeof AlertRule>

/** Nobody is told of these until then; they are still seen in the console. Both null: everything. */
export const AlertMute = z.object({
  id: Id,
  kind: z.enum(alertKinds).nullable(),
  squid: AlertSquid.nullable(),
  until: Time,
  createdBy: z.string(),
})
export type AlertMute = z.infer<typeof AlertMute>

export const channelTypes = ['email', 'webhook', 'slack'] as const
export const deliverySubjects = ['OPENED', 'ENDED', 'TEST'] as const
export const deliveryStatuses = ['PENDING', 'DELIVERED', 'FAILED'] as const

/** Where alerts are told. The e-mail channel goes to the confirmed address of the organization. */
export const AlertChannel = z.object({
  id: Id,
  type: z.enum(channelTypes),
  name: z.string(),
  /** Of a webhook, whole; of Slack its secret part is masked; of e-mail the address, null while none is confirmed. */
  target: z.string().nullable(),
  isEnabled: z.boolean(),
  lastDelivery: z.object({ status: z.enum(deliveryStatuses), at: Time }).nullable(),
})
export type AlertChannel = z.infer<typeof AlertChannel>

const ChannelName = z.string().trim().min(1, 'Name is required').max(60, 'At most 60 symbols.')
const ChannelUrl = z.url({ protocol: /^https?$/, error: 'Must be a valid URL' }).max(2000, 'Must be a valid URL')

export const NewChannel = z.object({ type: z.enum(['webhook', 'slack']), name: ChannelName, url: ChannelUrl })
export type NewChannel = z.infer<typeof NewChannel>

export const AlertDelivery = z.object({
  id: Id,
  channel: z.object({ id: Id, name: z.string(), type: z.enum(channelTypes) }),
  what: z.enum(deliverySubjects),
  label: z.string(),
  /** What the alert is about; null in a test. */
  alert: AlertEvent.pick({ kind: true, squid: true, container: true }).nullable(),
  status: z.enum(deliveryStatuses),
  tries: z.number().int(),
  /** HTTP status of the last try; null for mail and where nothing answered. */
  httpStatus: z.number().int().nullable(),
  error: z.string().nullable(),
  createdAt: Time,
  lastTriedAt: Time.nullable(),
  nextTryAt: Time.nullable(),
})
export type AlertDelivery = z.infer<typeof AlertDelivery>

/** Newest first; `before` is the smallest id of the page before. */
const page = { before: IdParam.optional() }

export const alerts = {
  list: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/alerts',
    access: 'member',
    summary: 'Open alerts, the worst first; or those that ended, or all, 50 at a time, the newest first',
    /** `before` pages through what is answered newest first. */
    query: { state: z.enum(['open', 'ended']).optional(), ...page },
    payload: z.array(AlertEvent),
  }),
  listRules: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/alerts/rules',
    access: 'member',
    summary: 'What is watched, and from what on',
    payload: z.array(AlertRule),
  }),
  changeRule: endpoint({
    method: 'PUT',
    path: '/v1/orgs/{code}/alerts/rules/{kind}',
    access: 'alerts.write',
    summary: 'Turn a rule on or off, or change from what on it speaks',
    body: z.object({ isEnabled: z.boolean(), threshold: z.number().int().nullable() }),
    payload: AlertRule,
  }),
  listMutes: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/alerts/mutes',
    access: 'member',
    summary: 'What nobody is told of for a while',
    payload: z.array(AlertMute),
  }),
  mute: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/alerts/mutes',
    access: 'squids.write',
    summary: 'Tell nobody of a kind, a version, or anything, for a while',
    body: z.object({
      kind: z.enum(alertKinds).nullable(),
      squidId: Id.nullable(),
      minutes: z.number().int().min(1).max(43_200),
    }),
    payload: AlertMute,
  }),
  unmute: endpoint({
    method: 'DELETE',
    path: '/v1/orgs/{code}/alerts/mutes/{muteId}',
    access: 'squids.write',
    summary: 'End a mute',
    payload: z.null(),
  }),
  listChannels: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/alerts/channels',
    access: 'member',
    summary: 'Where alerts are told',
    payload: z.array(AlertChannel),
  }),
  addChannel: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/alerts/channels',
    access: 'alerts.write',
    summary: 'Add a webhook or a Slack channel; the signing secret of a webhook is shown this once',
    body: NewChannel,
    payload: z.object({ channel: AlertChannel, signingSecret: z.string().nullable() }),
  }),
  changeChannel: endpoint({
    method: 'PUT',
    path: '/v1/orgs/{code}/alerts/channels/{channelId}',
    access: 'alerts.write',
    summary: 'Turn a channel on or off, rename it, or lead it elsewhere; without `url` it leads where it did',
    body: z.object({ name: ChannelName, isEnabled: z.boolean(), url: ChannelUrl.optional() }),
    payload: AlertChannel,
  }),
  removeChannel: endpoint({
    method: 'DELETE',
    path: '/v1/orgs/{code}/alerts/channels/{channelId}',
    access: 'alerts.write',
    summary: 'Remove a webhook or Slack channel',
    payload: z.null(),
  }),
  testChannel: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/alerts/channels/{channelId}/test',
    access: 'alerts.write',
    summary: 'Send a test at once and tell how it went',
    tooManyAfter: { calls: 20, perMs: 600_000 },
    payload: AlertDelivery,
  }),
  listDeliveries: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/alerts/deliveries',
    access: 'member',
    summary: 'What was sent where, and what came of it',
    query: page,
    payload: z.array(AlertDelivery),
  }),
  replayDelivery: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/alerts/deliveries/{deliveryId}/replay',
    access: 'alerts.write',
    summary: 'Send the same once more',
    tooManyAfter: { calls: 60, perMs: 600_000 },
    payload: AlertDelivery,
  }),
}
