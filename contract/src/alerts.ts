import { z } from 'zod'
import { alertKinds, alertSeverities } from './alert-rules.ts'
import { endpoint } from './endpoint.ts'
import { DisplayName, Id, IdParam, Time } from './fields.ts'

/** A version, with its name at the time of the alert. */
export const AlertSquid = z.object({ id: Id, name: z.string(), slot: z.string() })
export type AlertSquid = z.infer<typeof AlertSquid>

/** An alert is open until its cause ends; ended alerts are history. */
export const AlertEvent = z.object({
  id: Id,
  kind: z.enum(alertKinds),
  severity: z.enum(alertSeverities),
  /** Null for an alert about the whole organization. Alerts outlive their version. */
  squid: AlertSquid.extend({ isDeleted: z.boolean() }).nullable(),
  /** `api`, `db` or a processor's name; `spend` or `rpc` for a quota; null for an alert about the whole version or organization. */
  container: z.string().nullable(),
  label: z.string(),
  /** One or more sentences: the cause, and what to do. */
  reason: z.string(),
  startedAt: Time,
  /** Null while the alert is open. */
  endedAt: Time.nullable(),
  /** True if no notification was sent: the alert was muted when it opened and, unless it has ended, is still muted. */
  isMuted: z.boolean(),
})
export type AlertEvent = z.infer<typeof AlertEvent>

export const AlertRule = z.object({
  kind: z.enum(alertKinds),
  isEnabled: z.boolean(),
  /** In the unit given by `alertRules`; null for rules without a threshold. */
  threshold: z.number().int().nullable(),
})
export type AlertRule = z.infer<typeof AlertRule>

/** Suppresses notifications until `until`; the console still shows the alerts. A mute applies to all alerts if `kind` and `squid` are null. */
export const AlertMute = z.object({
  id: Id,
  kind: z.enum(alertKinds).nullable(),
  squid: AlertSquid.nullable(),
  until: Time,
  createdBy: z.string(),
})
export type AlertMute = z.infer<typeof AlertMute>

export const channelTypes = ['email', 'webhook', 'slack'] as const
/** What a delivery notifies of: that an alert opened, that it ended, or a test of the channel. */
export const deliverySubjects = ['OPENED', 'ENDED', 'TEST'] as const
export const deliveryStatuses = ['PENDING', 'DELIVERED', 'FAILED'] as const

/** A destination of notifications. The email channel sends to the confirmed address of the organization. */
export const AlertChannel = z.object({
  id: Id,
  type: z.enum(channelTypes),
  name: z.string(),
  /**
   * The URL or the email address; null while no address is confirmed. Only the host of the URL for Slack channels, and for webhooks
   * if the caller may not change channels.
   */
  target: z.string().nullable(),
  isEnabled: z.boolean(),
  lastDelivery: z.object({ status: z.enum(deliveryStatuses), at: Time }).nullable(),
})
export type AlertChannel = z.infer<typeof AlertChannel>

const ChannelName = DisplayName('Name is required').max(60, 'At most 60 characters.')
const ChannelUrl = z.url({ protocol: /^https?$/, error: 'Must be a valid URL' }).max(2000, 'Must be a valid URL')

export const NewChannel = z.object({ type: z.enum(['webhook', 'slack']), name: ChannelName, url: ChannelUrl })
export type NewChannel = z.infer<typeof NewChannel>

export const AlertDelivery = z.object({
  id: Id,
  channel: z.object({ id: Id, name: z.string(), type: z.enum(channelTypes) }),
  what: z.enum(deliverySubjects),
  label: z.string(),
  /** Null for a test. */
  alert: AlertEvent.pick({ kind: true, squid: true, container: true }).nullable(),
  status: z.enum(deliveryStatuses),
  tries: z.number().int(),
  /** HTTP status of the last attempt; null for email, and if there was no response. */
  httpStatus: z.number().int().nullable(),
  error: z.string().nullable(),
  createdAt: Time,
  lastTriedAt: Time.nullable(),
  nextTryAt: Time.nullable(),
})
export type AlertDelivery = z.infer<typeof AlertDelivery>

/** Newest first; `before` is the smallest id of the previous page. */
const page = { before: IdParam.optional() }

export const alerts = {
  list: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/alerts',
    access: 'member',
    scope: 'read',
    summary: 'Open alerts, most severe first; or ended alerts or all alerts, newest first, 50 per page',
    /** `before` has no effect on the list of open alerts, which is not paginated. */
    query: { state: z.enum(['open', 'ended']).optional(), ...page },
    payload: z.array(AlertEvent),
  }),
  listRules: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/alerts/rules',
    access: 'member',
    scope: 'read',
    summary: 'Alert rules with their thresholds',
    payload: z.array(AlertRule),
  }),
  changeRule: endpoint({
    method: 'PUT',
    path: '/v1/orgs/{code}/alerts/rules/{kind}',
    access: 'alerts.write',
    scope: 'admin',
    summary: 'Turn a rule on or off, or change its threshold',
    body: z.object({ isEnabled: z.boolean(), threshold: z.number().int().nullable() }),
    payload: AlertRule,
  }),
  listMutes: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/alerts/mutes',
    access: 'member',
    scope: 'read',
    summary: 'Active mutes',
    payload: z.array(AlertMute),
  }),
  mute: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/alerts/mutes',
    access: 'squids.write',
    scope: 'admin',
    summary: 'Mute one kind of alert, one version, or all alerts for a number of minutes',
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
    scope: 'admin',
    summary: 'Remove a mute, so that notifications are sent again',
    payload: z.null(),
  }),
  listChannels: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/alerts/channels',
    access: 'member',
    scope: 'read',
    summary: 'Channels that receive alerts',
    payload: z.array(AlertChannel),
  }),
  addChannel: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/alerts/channels',
    access: 'alerts.write',
    scope: 'admin',
    summary: 'Add a webhook or a Slack channel; the signing secret of a webhook is returned only once',
    body: NewChannel,
    payload: z.object({ channel: AlertChannel, signingSecret: z.string().nullable() }),
  }),
  changeChannel: endpoint({
    method: 'PUT',
    path: '/v1/orgs/{code}/alerts/channels/{channelId}',
    access: 'alerts.write',
    scope: 'admin',
    summary: 'Turn a channel on or off, rename it, or change its URL; without `url` the URL stays the same',
    body: z.object({ name: ChannelName, isEnabled: z.boolean(), url: ChannelUrl.optional() }),
    payload: AlertChannel,
  }),
  removeChannel: endpoint({
    method: 'DELETE',
    path: '/v1/orgs/{code}/alerts/channels/{channelId}',
    access: 'alerts.write',
    scope: 'admin',
    summary: 'Remove a webhook or Slack channel',
    payload: z.null(),
  }),
  testChannel: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/alerts/channels/{channelId}/test',
    access: 'alerts.write',
    scope: 'admin',
    summary: 'Send a test immediately and return its result',
    rateLimit: { calls: 20, perMs: 600_000 },
    payload: AlertDelivery,
  }),
  listDeliveries: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/alerts/deliveries',
    access: 'member',
    scope: 'read',
    summary: 'Deliveries with their results',
    query: page,
    payload: z.array(AlertDelivery),
  }),
  replayDelivery: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/alerts/deliveries/{deliveryId}/replay',
    access: 'alerts.write',
    scope: 'admin',
    summary: 'Send a delivery again',
    rateLimit: { calls: 60, perMs: 600_000 },
    payload: AlertDelivery,
  }),
}
