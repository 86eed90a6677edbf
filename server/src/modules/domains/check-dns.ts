import { Resolver } from 'node:dns/promises'

const queryTimeoutMs = 2_000
/** The maximum duration of all queries for a domain. */
const maxCheckMs = 5_000
const maxRecords = 50
/** The maximum length of a value from DNS in a message, in characters. */
const maxDisplayLength = 80

/** The result of looking up one record. `problem`: what DNS has instead, or why the check failed; null if DNS has the record. */
export type RecordCheck = { state: 'FOUND'; problem: null } | { state: 'MISSING' | 'UNKNOWN'; problem: string }
/** `proof`: the TXT record. `target`: the CNAME record, or the address records that replace it. */
export type RecordChecks = { proof: RecordCheck; target: RecordCheck }

/**
 * `unknown`: DNS did not respond, so the check is inconclusive. `problem`: the problem of the first record that was not found.
 */
export type DnsResult = { checks: RecordChecks } & (
  { status: 'proven'; problem: null } | { status: 'missing' | 'unknown'; problem: string }
)

const found: RecordCheck = { state: 'FOUND', problem: null }
const missing = (problem: string): RecordCheck => ({ state: 'MISSING', problem })

/** The name of the TXT record that proves control of a domain. */
export const proofName = (name: string): string => `_shoal.${name}`

/**
 * Checks that the TXT record proves control of the domain, and that the domain points to the gateway, by a CNAME record or by the
 * gateway's addresses. Never rejects.
 * @param servers addresses of DNS servers; empty: those of the host
 * @param limitMs the result is `unknown` if DNS has not responded by then
 */
export async function checkDns(
  name: string,
  proof: string,
  gatewayName: string,
  servers: string[],
  limitMs = maxCheckMs,
): Promise<DnsResult> {
  const resolver = new Resolver({ timeout: queryTimeoutMs, tries: 2 })
  if (servers.length > 0) resolver.setServers(servers)
  const timer = setTimeout(() => resolver.cancel(), limitMs)
  const orUnknown = (check: Promise<RecordCheck>) => check.catch((error: unknown) => unknown(name, error))
  const [proofCheck, targetCheck] = await Promise.all([
    orUnknown(checkProof(resolver, proofName(name), proof)),
    orUnknown(checkTarget(resolver, name, gatewayName)),
  ])
  clearTimeout(timer)
  const checks = { proof: proofCheck, target: targetCheck }
  const failed = [checks.proof, checks.target].find(({ state }) => state !== 'FOUND')
  if (!failed || failed.state === 'FOUND') return { status: 'proven', problem: null, checks }
  return { status: failed.state === 'MISSING' ? 'missing' : 'unknown', problem: failed.problem, checks }
}

async function checkProof(resolver: Resolver, name: string, proof: string): Promise<RecordCheck> {
  const values = (await orEmpty(resolver.resolveTxt(name))).map((parts) => parts.join(''))
  if (values.slice(0, maxRecords).includes(proof)) return found
  const [other] = values
  if (other === undefined) return missing(`DNS has no TXT record ${name}.`)
  return missing(`The TXT record ${name} has another value: ${displayText(other)}.`)
}

async function checkTarget(resolver: Resolver, name: string, gatewayName: string): Promise<RecordCheck> {
  const targets = (await orEmpty(resolver.resolveCname(name))).map((target) => target.toLowerCase().replace(/\.$/, ''))
  if (targets.includes(gatewayName)) return found
  const [addresses = [], expected = []] = await Promise.all(
    [name, gatewayName].map((host) => addressesOf(resolver, host)),
  )
  if (addresses.some((address) => expected.includes(address))) return found
  const [current] = [...targets, ...addresses]
  return missing(
    current === undefined
      ? `DNS has no record ${name}.`
      : `${name} points to ${displayText(current)}, not to ${gatewayName}.`,
  )
}

function unknown(name: string, error: unknown): RecordCheck {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
  if (code === 'ETIMEOUT' || code === 'ECANCELLED')
    return { state: 'UNKNOWN', problem: `The DNS servers of ${name} did not respond in time.` }
  return { state: 'UNKNOWN', problem: `The DNS records of ${name} could not be read (${code}).` }
}

/** Removes control characters from a value of DNS, which anyone may have written, and shortens it. */
function displayText(value: string): string {
  const text = value.replaceAll(/\p{C}/gu, '')
  return text.length > maxDisplayLength ? `${text.slice(0, maxDisplayLength)}…` : text
}

const addressesOf = async (resolver: Resolver, host: string): Promise<string[]> =>
  (await Promise.all([orEmpty(resolver.resolve4(host)), orEmpty(resolver.resolve6(host))])).flat()

/** Returns an empty list if DNS responds that there are no records. @throws the error if DNS does not respond */
async function orEmpty<T>(records: Promise<T[]>): Promise<T[]> {
  try {
    return await records
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null
    if (code === 'ENOTFOUND' || code === 'ENODATA') return []
    throw error
  }
}
