import { createHmac, randomBytes } from 'node:crypto'

const secretPrefix = 'whsec_'

/** Returns a random signing secret in the format of Standard Webhooks. */
export const newSigningSecret = (): string => secretPrefix + randomBytes(32).toString('base64')

/** Returns the headers of Standard Webhooks 1.0.0. `body` must be the exact text of the request; `at` is the time of the attempt. */
export function signatureHeaders(secret: string, id: string, at: Date, body: string): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
