import { request } from 'undici'
import { agentFor, PrivateAddress, type NetworkAccess } from './network-access.ts'

export type PostResult =
  | { isAccepted: true; httpStatus: number }
  | { isAccepted: false; httpStatus: number | null; error: string; isFinal: boolean; retryAfterMs: number | null }

export type PostOptions = { reach: NetworkAccess; timeoutMs: number; signal: AbortSignal; now: Date }

/** So much of an answer is taken in, so that its sender sees a proper end; nothing is done with it. */
const maxAnswerBytes = 4096

/**
 * Posts JSON to an address that a stranger chose: no redirects, not into our own network, within `timeoutMs`. Answers sentences
 * that hold neither the address nor what it answered.
 * @throws when `signal` ends it
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
    const answer = await request(url, {
      dispatcher: agent,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'Shoal-Alerts/1', ...headers },
      body,
      signal: AbortSignal.any([timeout, signal]),
    })
    await drainBody(answer.body)
    return classifyResponse(answer.statusCode, retryAfterMsOf(answer.headers['retry-after'], now))
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
    for await (const chunk of body) if ((bytes += chunk.length) > maxAnswerBytes) return
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

/** Seconds, or a date. */
function retryAfterMsOf(header: string | string[] | undefined, now: Date): number | null {
  if (typeof header !== 'string') return null
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now.getTime()
  return Number.isFinite(ms) && ms > 0 ? ms : null
}
