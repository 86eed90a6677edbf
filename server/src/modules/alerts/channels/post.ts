import { request } from 'undici'
import { agentFor, PrivateAddress, type NetworkAccess } from './network-access.ts'

export type PostResult =
  | { isAccepted: true; httpStatus: number }
  | { isAccepted: false; httpStatus: number | null; error: string; isFinal: boolean; retryAfterMs: number | null }

export type PostOptions = { reach: NetworkAccess; timeoutMs: number; signal: AbortSignal; now: Date }

/** Bytes of a response that are read and discarded, so that the receiver sees its response accepted. */
const maxDrainedBytes = 4096

/**
 * Posts JSON to a URL that a tenant chose: without following redirects, not into private networks, and within `timeoutMs`. Error
 * messages contain neither the URL nor the response.
 * @throws when `signal` aborts
 */
export async function postJson(
  url: string,
  headers: Record<string, string>,
  body: string,
  { reach, timeoutMs, signal, now }: PostOptions,
): Promise<PostResult> {
  const agent = agentFor(reach)
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
    return classifyResponse(response.statusCode, retryAfterMsOf(response.headers['retry-after'], now))
  } catch (error) {
    signal.throwIfAborted()
    return failed(error, timeout.aborted, timeoutMs)
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
  const base = { isAccepted: false, httpStatus, retryAfterMs, isFinal: false } as const
  if (httpStatus >= 300 && httpStatus < 400)
    return { ...base, error: `It answered ${httpStatus}, a redirect. Redirects are not followed.` }
  if (httpStatus === 410) return { ...base, isFinal: true, error: 'It answered 410: it wants no more messages.' }
  return { ...base, error: `It answered ${httpStatus}.` }
}

function failed(error: unknown, isLate: boolean, timeoutMs: number): PostResult {
  const base = { isAccepted: false, httpStatus: null, retryAfterMs: null, isFinal: false } as const
  if (error instanceof PrivateAddress)
    return {
      ...base,
      isFinal: true,
      error: 'The address leads into a private network. Only public addresses are reached.',
    }
  if (isLate) return { ...base, error: `No answer within ${timeoutMs / 1000} s.` }
  return { ...base, error: reasons.find(([codes]) => codes.test(codeOf(error)))?.[1] ?? 'The connection broke.' }
}

const reasons: [RegExp, string][] = [
  [/ENOTFOUND|EAI_/, 'The name of the host could not be found.'],
  [/ECONNREFUSED/, 'The connection was refused.'],
  [/EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT/, 'The host could not be reached.'],
  [/CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS|EPROTO|ERR_SSL/, 'No secure connection: its certificate is not valid.'],
]

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/** Parses `Retry-After`: a number of seconds, or a date. */
function retryAfterMsOf(header: string | string[] | undefined, now: Date): number | null {
  if (typeof header !== 'string') return null
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now.getTime()
  return Number.isFinite(ms) && ms > 0 ? ms : null
}
