import { request } from 'undici'
import { agentFor, PrivateAddressError, type NetworkAccess } from './network-access.ts'

/**
 * The result of a request. `isFinal`: a retry cannot succeed. `retryAfterMs`: the delay that the receiver requests;
 * null without one.
 */
export type PostResult =
  | { isAccepted: true; httpStatus: number }
  | { isAccepted: false; httpStatus: number | null; error: string; isFinal: boolean; retryAfterMs: number | null }

/** `now` is the time from which a date in `Retry-After` is counted. */
export type PostOptions = { networkAccess: NetworkAccess; timeoutMs: number; signal: AbortSignal; now: Date }

/** The maximum number of bytes of a response that are read and discarded, so that the receiver can finish sending it. */
const maxDrainedBytes = 4096

/**
 * Posts JSON to a URL chosen by a tenant. Does not follow redirects, connects to private networks only if `networkAccess` allows it, and
 * takes at most `timeoutMs`. Error messages contain neither the URL nor the response.
 * @throws when `signal` aborts
 */
export async function postJson(
  url: string,
  headers: Record<string, string>,
  body: string,
  { networkAccess, timeoutMs, signal, now }: PostOptions,
): Promise<PostResult> {
  const agent = agentFor(networkAccess)
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const response = await request(url, {
      dispatcher: agent,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'Shoal-Alerts/1', ...headers },
      body,
      signal: AbortSignal.any([timeout, signal]),
    })
    await drainBody(response.body)
    return classifyResponse(response.statusCode, parseRetryAfter(response.headers['retry-after'], now))
  } catch (error) {
    signal.throwIfAborted()
    return failureOf(error, timeout.aborted, timeoutMs)
  } finally {
    await agent.destroy()
  }
}

async function drainBody(body: AsyncIterable<Buffer>): Promise<void> {
  let bytes = 0
  try {
    for await (const chunk of body) if ((bytes += chunk.length) > maxDrainedBytes) return
  } catch {
    // The status has arrived; errors after it do not matter.
  }
}

function classifyResponse(httpStatus: number, retryAfterMs: number | null): PostResult {
  if (httpStatus >= 200 && httpStatus < 300) return { isAccepted: true, httpStatus }
  const failure = { isAccepted: false, httpStatus, retryAfterMs, isFinal: false } as const
  if (httpStatus >= 300 && httpStatus < 400)
    return { ...failure, error: `The receiver returned ${httpStatus}, a redirect. Redirects are not followed.` }
  if (httpStatus === 410)
    return { ...failure, isFinal: true, error: 'The receiver returned 410: it no longer accepts messages.' }
  return { ...failure, error: `The receiver returned ${httpStatus}.` }
}

function failureOf(error: unknown, isTimeout: boolean, timeoutMs: number): PostResult {
  const failure = { isAccepted: false, httpStatus: null, retryAfterMs: null, isFinal: false } as const
  if (error instanceof PrivateAddressError)
    return {
      ...failure,
      isFinal: true,
      error: 'The address is in a private network. Only public addresses are allowed.',
    }
  if (isTimeout) return { ...failure, error: `The receiver did not respond within ${timeoutMs / 1000} s.` }
  return {
    ...failure,
    error: connectionErrors.find(([codes]) => codes.test(errorCodeOf(error)))?.[1] ?? 'The connection was closed.',
  }
}

const connectionErrors: [RegExp, string][] = [
  [/ENOTFOUND|ENODATA|ESERVFAIL|EREFUSED|ETIMEOUT|EBADNAME|EAI_/, 'The host name could not be resolved.'],
  [/ECONNREFUSED/, 'The connection was refused.'],
  [/EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT/, 'The host could not be reached.'],
  [/CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS|EPROTO|ERR_SSL/, 'No secure connection: the certificate is not valid.'],
]

const errorCodeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/**
 * Returns the delay in `Retry-After`, which is a number of seconds or a date; null if it is absent, not valid or not in
 * the future.
 */
function parseRetryAfter(header: string | string[] | undefined, now: Date): number | null {
  if (typeof header !== 'string') return null
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now.getTime()
  return Number.isFinite(ms) && ms > 0 ? ms : null
}
