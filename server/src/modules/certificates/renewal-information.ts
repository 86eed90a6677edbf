import { X509Certificate } from 'node:crypto'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { days, hours, minutes } from '../../clock.ts'
import { loadAcmeFor } from './authority.ts'

type InformationApp = Pick<App, 'config' | 'clock'>

/**
 * The window in which the authority suggests renewing a certificate. If the window has passed, for example after a revocation, the
 * certificate must be renewed immediately.
 */
export type RenewalInformation = { start: Date; end: Date; nextCheckAt: Date }

const maxBytes = 65_536
const defaultDelayMs = hours(6)
const delayLimitsMs = { min: minutes(1), max: days(1) }

const directorySchema = z.object({ renewalInfo: z.url({ protocol: /^https?$/ }).optional() })
const informationSchema = z
  .object({
    suggestedWindow: z.object({ start: z.iso.datetime({ offset: true }), end: z.iso.datetime({ offset: true }) }),
  })
  .transform(({ suggestedWindow: { start, end } }) => ({ start: new Date(start), end: new Date(end) }))
  .refine(({ start, end }) => start < end, 'the suggested window ends before it starts')

/**
 * Reads from the authority when to renew a certificate (RFC 9773). Returns null if the authority does not offer renewal
 * information.
 * @throws Error if the authority does not respond, does not know the certificate, or returns a window that is not valid
 */
export async function readRenewalInformation(app: InformationApp, chain: string): Promise<RenewalInformation | null> {
  const baseUrl = await renewalInfoUrl(app)
  if (baseUrl === null) return null
  const { data, headers } = await get(app, `${baseUrl.replace(/\/$/, '')}/${await certificateId(chain)}`)
  const delayMs = retryAfterMs(String(headers['retry-after'] ?? ''), app.clock.now())
  return { ...informationSchema.parse(data), nextCheckAt: new Date(app.clock.now().getTime() + delayMs) }
}

/** Returns the id of a certificate for the order that replaces it; null if the authority does not offer renewal information. */
export async function replacedId(app: InformationApp, chain: string): Promise<string | null> {
  return (await renewalInfoUrl(app)) === null ? null : await certificateId(chain)
}

/**
 * Returns the id of a certificate (RFC 9773, section 4.1): the key identifier of the authority and the serial number.
 * @throws Error if the certificate does not contain the key identifier
 */
export async function certificateId(chain: string): Promise<string> {
  const { AuthorityKeyIdentifierExtension, X509Certificate: Parsed } = await import('@peculiar/x509')
  const certificate = new X509Certificate(chain)
  const keyId = new Parsed(certificate.raw).getExtension(AuthorityKeyIdentifierExtension)?.keyId
  if (keyId === undefined) throw new Error('the certificate does not name the key of its authority')
  const digits = certificate.serialNumber
  const serial = digits.length % 2 === 0 ? digits : `0${digits}`
  // In DER, the first bit of a positive number is 0.
  const der = /^[89a-f]/i.test(serial) ? `00${serial}` : serial
  return [keyId, der].map((hex) => Buffer.from(hex, 'hex').toString('base64url')).join('.')
}

async function renewalInfoUrl(app: InformationApp): Promise<string | null> {
  const { data } = await get(app, app.config.SHOAL_ACME_DIRECTORY_URL)
  return directorySchema.parse(data).renewalInfo ?? null
}

async function get(app: InformationApp, url: string) {
  const { axios } = await loadAcmeFor(app)
  return await axios.get<unknown>(url, { maxContentLength: maxBytes })
}

/** Returns the delay in the header `retry-after`, within limits. `header`: a number of seconds or a date. */
function retryAfterMs(header: string, now: Date): number {
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now.getTime()
  if (Number.isNaN(ms)) return defaultDelayMs
  return Math.min(Math.max(ms, delayLimitsMs.min), delayLimitsMs.max)
}
