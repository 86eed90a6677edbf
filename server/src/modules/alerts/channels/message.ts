import { AlertSquid, alertKinds, alertSeverities, troubleshootingUrl, type AlertDelivery } from '@shoal/contract'
import { z } from 'zod'
import type { Config } from '../../../config/config.ts'
import type { EventRow } from '../event-store.ts'
import { squidOf } from '../present.ts'

const messageTypes = { OPENED: 'alert.opened', ENDED: 'alert.ended', TEST: 'alert.test' } as const satisfies Record<
  AlertDelivery['what'],
  string
>

/** A message about an alert as it was when it changed: stored with each delivery, and the body of webhooks (`docs/alerts.md`). */
export const Message = z.object({
  version: z.literal(1),
  /** The same for all attempts and replays, so that receivers can detect duplicates. */
  id: z.string(),
  type: z.enum(Object.values(messageTypes)),
  createdAt: z.string(),
  organization: z.object({ code: z.string(), name: z.string().nullable() }),
  /** The same in the messages about the opening and the end of an alert. Null in a test message. */
  alertId: z.number().nullable(),
  squid: AlertSquid.nullable(),
  container: z.string().nullable(),
  /** Null in a test message. */
  kind: z.enum(alertKinds).nullable(),
  severity: z.enum(alertSeverities),
  label: z.string(),
  reason: z.string(),
  startedAt: z.string(),
  endedAt: z.string().nullable(),
})
export type Message = z.infer<typeof Message>
/** The messages of one email or Slack post: one, or those of a digest. */
export type Messages = [Message, ...Message[]]

type MessageContext = { organization: Message['organization']; at: Date }

/** Returns the message that an alert opened, became critical (`OPENED` again) or ended. */
export function transitionMessage(
  event: EventRow,
  what: 'OPENED' | 'ENDED',
  { organization, at }: MessageContext,
): Message {
  return {
    version: 1,
    // Includes the time, since channels are notified again when an alert becomes critical.
    id: `alert-${event.id}-${what.toLowerCase()}-${at.getTime()}`,
    type: messageTypes[what],
    createdAt: at.toISOString(),
    organization,
    alertId: event.id,
    squid: squidOf(event),
    container: event.container,
    kind: event.kind,
    severity: event.severity,
    label: event.label,
    reason: event.reason,
    startedAt: event.startedAt.toISOString(),
    endedAt: event.endedAt?.toISOString() ?? null,
  }
}

/** Returns the message of the test button. `id` must not contain a full stop, which separates the parts of the signed text. */
export function testMessage(id: string, { organization, at }: MessageContext): Message {
  return {
    version: 1,
    id: `test-${id}`,
    type: messageTypes.TEST,
    createdAt: at.toISOString(),
    organization,
    alertId: null,
    squid: null,
    container: null,
    kind: null,
    severity: 'WARNING',
    label: 'Test',
    reason: 'A member pressed the test button. Alerts of the organization arrive here; nothing is wrong.',
    startedAt: at.toISOString(),
    endedAt: null,
  }
}

/** Returns the title of a message, which starts with the version or organization. */
export function titleOf({ type, organization, squid, label }: Message): string {
  const subject = squid ? `${squid.name}@${squid.slot}` : (organization.name ?? organization.code)
  if (type === 'alert.test') return `${subject}: test of alerts`
  return type === 'alert.ended' ? `${subject} recovered: ${label}` : `${subject}: ${label}`
}

/** Returns the details of a message: reason and start of an open alert, or only the period of one that has ended. */
export function detailsOf({ type, severity, reason, startedAt, endedAt }: Message): string[] {
  if (type === 'alert.test') return [reason]
  if (type === 'alert.ended' && endedAt) return [`It lasted from ${formatUtc(startedAt)} to ${formatUtc(endedAt)}.`]
  return [reason, `${severity === 'CRITICAL' ? 'Critical' : 'A warning'}, since ${formatUtc(startedAt)}.`]
}

const formatUtc = (iso: string) => `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`

/** Returns the title of a digest: the number of alerts and recoveries. */
export function digestTitle(messages: Messages): string {
  const [{ organization }] = messages
  const opened = messages.filter(({ type }) => type === 'alert.opened').length
  const ended = messages.filter(({ type }) => type === 'alert.ended').length
  const counts = [
    ...(opened > 0 ? [`${opened} ${opened === 1 ? 'alert' : 'alerts'}`] : []),
    ...(ended > 0 ? [`${ended} recovered`] : []),
  ]
  return `${organization.name ?? organization.code}: ${counts.join(', ')}`
}

/** Returns the URL of the console page about the alert: the version's page, or the list of alerts. */
export function urlOf(config: Pick<Config, 'publicUrl'>, { organization, squid }: Message): string {
  if (!squid) return alertsUrl(config, organization.code)
  return `${config.publicUrl}/squids/${squid.name}/${squid.slot}?organization=${organization.code}`
}

/** Returns the URL of the list of alerts in the console. */
export const alertsUrl = (config: Pick<Config, 'publicUrl'>, orgCode: string): string =>
  `${config.publicUrl}/monitoring/alerts?organization=${orgCode}`

/** Returns the URL of the paragraph of the documentation with the causes and remedies of the alert; null in a test message. */
export const helpUrlOf = (config: Pick<Config, 'publicUrl'>, { kind }: Message): string | null =>
  kind && `${config.publicUrl}${troubleshootingUrl(kind)}`
