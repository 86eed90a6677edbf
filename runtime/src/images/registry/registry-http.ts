import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { type Dispatcher, request } from 'undici'
import type { Credentials } from './credentials.ts'
import { RegistryAuth, type RegistryScope } from './registry-auth.ts'
import { type Purpose, RegistryError, refused } from './registry-error.ts'

export type RegistryRequest = {
  purpose: Purpose
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** A path on the registry, or an absolute URL that it returned. */
  url: string
  scopes: RegistryScope[]
  headers?: Record<string, string>
  /** Creates the body, once for each attempt. */
  body?: () => Buffer | Readable
  /** Statuses, in addition to 2xx, that are not errors. */
  accepts?: number[]
  /** False: the request is not sent again after a temporary failure. Default: true. */
  mayRetry?: boolean
  signal: AbortSignal
}

export type RegistryResponse = {
  status: number
  headers: Record<string, string | undefined>
  /** Must be consumed or dumped. */
  body: Dispatcher.ResponseData['body']
  url: string
}

const ATTEMPTS = 5
const FIRST_DELAY_MS = 500
/** Maximum delay before a retry, even if the registry requests a longer one (`Retry-After`). */
const MAX_DELAY_MS = 60_000
const MAX_REDIRECTS = 5
const MAX_ERROR_BYTES = 65_536

/** Sends requests to one registry: authorizes them, follows redirects, and repeats them while the registry is unreachable or overloaded. */
export class RegistryHttp {
  readonly #origin: string
  readonly #auth: RegistryAuth

  constructor(origin: string, host: string, credentials: () => Promise<Credentials | null>) {
    this.#origin = origin
    this.#auth = new RegistryAuth(origin, host, credentials)
  }

  /** @throws RegistryError for a status that the request does not accept, or if there is no response; the signal's reason when aborted */
  async send(requested: RegistryRequest): Promise<RegistryResponse> {
    for (let attempt = 1; ; attempt++) {
      requested.signal.throwIfAborted()
      let retryAfterMs = 0
      try {
        const response = await this.#sendAuthorized(requested)
        if (isAccepted(requested, response.status)) return response
        retryAfterMs = Number(response.headers['retry-after'] ?? 0) * 1000 || 0
        throw refused(requested.purpose, response.status, await readError(response))
      } catch (error) {
        requested.signal.throwIfAborted()
        const isLast = attempt === ATTEMPTS || requested.mayRetry === false
        if (isLast || !isTemporary(error)) throw error
      }
      await delay(Math.min(Math.max(retryAfterMs, FIRST_DELAY_MS * 2 ** (attempt - 1)), MAX_DELAY_MS), requested.signal)
    }
  }

  async #sendAuthorized(requested: RegistryRequest): Promise<RegistryResponse> {
    const response = await this.#sendOnce(requested)
    const challenge = response.headers['www-authenticate']
    if (response.status !== 401 || !challenge || !this.#auth.accept(challenge, requested.scopes)) return response
    await response.body.dump()
    return await this.#sendOnce(requested)
  }

  async #sendOnce(requested: RegistryRequest): Promise<RegistryResponse> {
    const { purpose, method, scopes, headers, body, signal } = requested
    let url = new URL(requested.url, this.#origin)
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const isOfRegistry = url.origin === new URL(this.#origin).origin
      if (url.protocol !== 'https:' && this.#origin.startsWith('https:'))
        throw new RegistryError(`Could not ${purpose}: the registry refers to ${url.origin}, which is not https`, {
          status: 0,
        })
      // The storage behind a registry must not receive the credentials, and often refuses requests that contain them.
      const authorization = isOfRegistry ? await this.#auth.header(scopes) : null
      const sentHeaders = { ...headers, ...(authorization === null ? {} : { authorization }) }
      const response = await request(url, { method, headers: sentHeaders, body: body?.() ?? null, signal }).catch(
        (cause: unknown) => {
          throw new RegistryError(`Could not ${purpose}: ${url.host} does not respond (${reasonOf(cause)})`, {
            status: 0,
            cause,
          })
        },
      )
      const location = header(response.headers, 'location')
      const isRedirect = [301, 302, 303, 307, 308].includes(response.statusCode) && location !== undefined
      if (!isRedirect || (method !== 'GET' && method !== 'HEAD'))
        return {
          status: response.statusCode,
          headers: flatten(response.headers),
          body: response.body,
          url: url.href,
        }
      await response.body.dump()
      url = new URL(location, url)
    }
    throw new RegistryError(`Could not ${purpose}: more than ${MAX_REDIRECTS} redirects`, { status: 0 })
  }
}

/** True if repeating the request later may succeed. */
export function isTemporary(error: unknown): boolean {
  return error instanceof RegistryError && (error.status === 0 || error.status >= 500 || error.status === 429)
}

/** Waits for 50 to 100 % of `ms`, chosen randomly, so that several workers do not repeat their requests at the same time. */
export async function delay(ms: number, signal: AbortSignal): Promise<void> {
  await pause(ms * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => signal.throwIfAborted())
}

const isAccepted = ({ accepts = [] }: RegistryRequest, status: number): boolean =>
  (status >= 200 && status < 300) || accepts.includes(status)

async function readError({ body }: RegistryResponse): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of body) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > MAX_ERROR_BYTES) break
    }
  } catch {
    // The status explains enough.
  }
  return Buffer.concat(chunks).toString()
}

const reasonOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : cause instanceof Error ? cause.message : 'unknown'

const header = (headers: Dispatcher.ResponseData['headers'], name: string): string | undefined => {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

const flatten = (headers: Dispatcher.ResponseData['headers']): Record<string, string | undefined> =>
  Object.fromEntries(Object.keys(headers).map((name) => [name, header(headers, name)]))
