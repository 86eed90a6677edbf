import { request } from 'undici'
import type { Credentials } from './credentials.ts'
import { RegistryError, refused } from './registry-error.ts'

/** What a token permits, such as `repository:o1:pull,push`. */
export type RegistryScope = string

type Challenge = { scheme: 'basic' } | { scheme: 'bearer'; realm: string; service: string | null }

/** How long before a token's expiry a new one is requested. */
const EXPIRY_MARGIN_MS = 10_000
/** The specification's default lifetime of a token. */
const DEFAULT_LIFETIME_S = 60
const TIMEOUT_MS = 30_000

/**
 * Authenticates requests to a registry as its challenges require: Basic, or Bearer with tokens from the server that the challenge names
 * (the token specification of Docker's registry). Tokens are kept in memory until shortly before they expire.
 */
export class RegistryAuth {
  readonly #host: string
  readonly #isPlainHttp: boolean
  readonly #credentials: () => Promise<Credentials | null>
  #challenge: Challenge | null = null
  readonly #tokens = new Map<string, { token: string; endsAtMs: number }>()

  constructor(origin: string, host: string, credentials: () => Promise<Credentials | null>) {
    this.#isPlainHttp = origin.startsWith('http://')
    this.#host = host
    this.#credentials = credentials
  }

  /** Returns the `Authorization` header of a request; null before the registry's first challenge, or for Basic without a password. */
  async header(scopes: RegistryScope[]): Promise<string | null> {
    if (this.#challenge === null) return null
    if (this.#challenge.scheme === 'basic') return basic(await this.#credentials())
    const key = scopes.join(' ')
    const known = this.#tokens.get(key)
    if (known && known.endsAtMs > Date.now()) return `Bearer ${known.token}`
    const { token, lifetimeS } = await this.#requestToken(this.#challenge, scopes)
    this.#tokens.set(key, { token, endsAtMs: Date.now() + lifetimeS * 1000 - EXPIRY_MARGIN_MS })
    return `Bearer ${token}`
  }

  /** Stores the challenge of a 401 response for `header`. Returns false if repeating the request would not help. */
  accept(wwwAuthenticate: string, scopes: RegistryScope[]): boolean {
    const challenge = parseChallenge(wwwAuthenticate)
    if (challenge === null) return false
    this.#challenge = challenge
    this.#tokens.delete(scopes.join(' '))
    return true
  }

  async #requestToken(
    { realm, service }: Extract<Challenge, { scheme: 'bearer' }>,
    scopes: RegistryScope[],
  ): Promise<{ token: string; lifetimeS: number }> {
    const url = new URL(realm)
    const purpose = `sign in to the registry ${this.#host} with its token server ${url.host}`
    if (url.protocol !== 'https:' && !this.#isPlainHttp)
      throw new RegistryError(`Could not ${purpose}: the URL of its token server must start with https`, { status: 0 })
    const credentials = await this.#credentials()
    const form = new URLSearchParams(scopes.map((scope): [string, string] => ['scope', scope]))
    if (service !== null) form.set('service', service)
    const isRefresh = credentials !== null && 'identityToken' in credentials
    if (isRefresh) {
      form.set('grant_type', 'refresh_token')
      form.set('refresh_token', credentials.identityToken)
      form.set('client_id', 'shoal')
    } else for (const [name, value] of form) url.searchParams.append(name, value)
    const authorization = basic(credentials)
    const timeouts = { headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS }
    const response = await (
      isRefresh
        ? request(url, {
            method: 'POST',
            body: form.toString(),
            headers: { 'content-type': 'application/x-www-form-urlencoded' },
            ...timeouts,
          })
        : request(url, { headers: authorization === null ? {} : { authorization }, ...timeouts })
    ).catch((cause: unknown) => {
      throw new RegistryError(`Could not ${purpose}: it does not respond`, { status: 0, cause })
    })
    const body = await response.body.text()
    if (response.statusCode !== 200) throw refused(purpose, response.statusCode, body)
    return parseToken(purpose, body)
  }
}

function parseToken(purpose: string, body: string): { token: string; lifetimeS: number } {
  let tokenResponse: { token?: string; access_token?: string; expires_in?: number } = {}
  try {
    tokenResponse = JSON.parse(body)
  } catch {
    // Reported below.
  }
  const token = tokenResponse.token ?? tokenResponse.access_token
  if (!token) throw new RegistryError(`Could not ${purpose}: the response has no token`, { status: 200 })
  return { token, lifetimeS: tokenResponse.expires_in ?? DEFAULT_LIFETIME_S }
}

function basic(credentials: Credentials | null): string | null {
  if (credentials === null || 'identityToken' in credentials) return null
  return `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`
}

function parseChallenge(header: string): Challenge | null {
  if (/^basic\b/i.test(header)) return { scheme: 'basic' }
  if (!/^bearer\b/i.test(header)) return null
  const parameters = new Map([...header.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]))
  const realm = parameters.get('realm')
  if (realm === undefined || !URL.canParse(realm)) return null
  return { scheme: 'bearer', realm, service: parameters.get('service') ?? null }
}
