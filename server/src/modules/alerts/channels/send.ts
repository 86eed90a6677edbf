import { once } from 'node:events'
import type { App } from '../../../app.ts'
import { sendMailNow } from '../../../mail/index.ts'
import { notificationEmail } from '../../orgs/index.ts'
import { alertMail, digestMail } from './alert-mails.ts'
import type { ChannelRow } from './channel-store.ts'
import { helpUrlOf, urlOf, type Messages } from './message.ts'
import { postJson, type PostResult } from './post.ts'
import { channelUrlContext, signingSecretContext } from './present.ts'
import { systemNetwork, type NetworkAccess } from './network-access.ts'
import { slackBody, slackDigest } from './slack.ts'
import { signatureHeaders } from './webhook.ts'

/** The result of an attempt; emails have no HTTP status. */
export type SendResult = PostResult | { isAccepted: true; httpStatus: null }

/** How URLs chosen by tenants are called. */
export type SendOptions = { networkAccess: NetworkAccess; timeoutMs: number }

/** Returns the options from the settings: whether private addresses are allowed, and a timeout of ten seconds. */
export const sendOptionsOf = (app: Pick<App, 'config'>): SendOptions => ({
  networkAccess: systemNetwork(app.config.SHOAL_ALERTS_ALLOW_PRIVATE, app.config.dnsServers),
  timeoutMs: 10_000,
})

/** `mailId` is the same for all attempts but differs in a replay, because mail programs show emails with the same id only once. */
export type SendAttempt = { mailId: string; signal: AbortSignal }

/**
 * Sends one message, or a digest of several. For a webhook, `messages` must contain exactly one.
 * @throws when `signal` aborts
 */
export async function send(
  app: App,
  sendOptions: SendOptions,
  channel: ChannelRow,
  messages: Messages,
  { mailId, signal }: SendAttempt,
): Promise<SendResult> {
  if (channel.type === 'email') return await sendByMail(app, channel, messages, { mailId, signal })
  const url = channel.sealedUrl === null ? '' : app.sealer.open(channel.sealedUrl, channelUrlContext(channel.id))
  const now = app.clock.now()
  const options = { ...sendOptions, signal, now }
  const [message] = messages
  if (channel.type === 'slack') {
    const body = messages.length === 1 ? slackBody(app.config, message) : slackDigest(app.config, messages)
    return await postJson(url, {}, JSON.stringify(body), options)
  }
  const secret =
    channel.sealedSigningSecret === null
      ? ''
      : app.sealer.open(channel.sealedSigningSecret, signingSecretContext(channel.id))
  const body = JSON.stringify({ ...message, url: urlOf(app.config, message), helpUrl: helpUrlOf(app.config, message) })
  return await postJson(url, signatureHeaders(secret, message.id, now, body), body, options)
}

async function sendByMail(
  app: App,
  { orgId }: ChannelRow,
  messages: Messages,
  { mailId, signal }: SendAttempt,
): Promise<SendResult> {
  const failure = { isAccepted: false, httpStatus: null, retryAfterMs: null } as const
  const to = await notificationEmail(app.db, orgId)
  if (!to) return { ...failure, isFinal: true, error: 'The organization has no confirmed email address.' }
  const [message] = messages
  const mail = messages.length === 1 ? alertMail(app.config, to, message) : digestMail(app.config, to, messages)
  try {
    await waitUnlessAborted(sendMailNow(app, mail, `alert-${mailId}`), signal)
    return { isAccepted: true, httpStatus: null }
  } catch (error) {
    signal.throwIfAborted()
    // The error of a mail server may reveal details of the operator's network and account.
    app.log.warn({ err: error, orgId }, 'an alert could not be sent by email')
    return { ...failure, isFinal: false, error: 'The mail server did not accept the email.' }
  }
}

/** Waits for `work`, but not after `signal` aborts: a worker that shuts down does not wait for a slow mail server. */
async function waitUnlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const settled = new AbortController()
  try {
    await Promise.race([work, once(signal, 'abort', { signal: settled.signal })])
    signal.throwIfAborted()
  } finally {
    settled.abort()
  }
}
