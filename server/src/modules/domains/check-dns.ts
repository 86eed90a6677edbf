import { Resolver } from 'node:dns/promises'

const timeoutMs = 3_000
const maxRecords = 50

/** `unknown`: DNS could not be queried, so nothing is known about the records. */
export type DnsResult = { status: 'proven' } | { status: 'missing' | 'unknown'; problem: string }

export const proofName = (name: string): string => `_shoal.${name}`

/**
 * Checks that the TXT record proves control of the domain, and that the domain points to the gateway, by a CNAME record or by the
 * gateway's addresses. Never rejects.
 * @param servers addresses of DNS servers; empty: those of the host
 */
export async function checkDns(
  name: string,
  proof: string,
  gatewayName: string,
  servers: string[],
): Promise<DnsResult> {
  const resolver = new Resolver({ timeout: timeoutMs, tries: 2 })
  if (servers.length > 0) resolver.setServers(servers)
  try {
    const texts = await orNone(resolver.resolveTxt(proofName(name)))
    if (!texts.slice(0, maxRecords).some((parts) => parts.join('') === proof))
      return { status: 'missing', problem: `The TXT record ${proofName(name)} does not have the expected value.` }
    const target = await orNone(resolver.resolveCname(name))
    if (target.some((cname) => cname.toLowerCase().replace(/\.$/, '') === gatewayName)) return { status: 'proven' }
    const [addresses, expected] = await Promise.all([name, gatewayName].map((host) => addressesOf(resolver, host)))
    if (addresses?.some((address) => expected?.includes(address))) return { status: 'proven' }
    return { status: 'missing', problem: `${name} does not point to ${gatewayName}.` }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    return { status: 'unknown', problem: `The DNS records of ${name} could not be read (${code}).` }
  }
}

const addressesOf = async (resolver: Resolver, host: string): Promise<string[]> =>
  (await Promise.all([orNone(resolver.resolve4(host)), orNone(resolver.resolve6(host))])).flat()

/** Returns no records if DNS says that there are none. @throws the error if DNS says nothing */
async function orNone<T>(records: Promise<T[]>): Promise<T[]> {
  try {
    return await records
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null
    if (code === 'ENOTFOUND' || code === 'ENODATA') return []
    throw error
  }
}
