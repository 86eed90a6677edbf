import type { IncomingMessage } from 'node:http'

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Whether a request may reach a squid twice: methods that only read (RFC 9110, 9.2.1), and GraphQL queries, which travel as
 * POST but only read too. Whatever might be a mutation may not.
 */
export function isSafeToRetry(req: Pick<IncomingMessage, 'method' | 'headers'>, body: Buffer | null): boolean {
  if (safeMethods.has(req.method ?? '')) return true
  if (req.method !== 'POST' || !body || !req.headers['content-type']?.startsWith('application/json')) return false
  const text = body.toString()
  return text.includes('"query"') && !/mutation/i.test(text)
}
