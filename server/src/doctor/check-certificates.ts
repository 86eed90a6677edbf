import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { days } from '../clock.ts'
import { gatewayUrlOf } from '../config/config.ts'
import { isLoopback } from '../config/runtime-settings.ts'
import { localUrl } from '../ports/listener.ts'
import type { CertificateFact } from '../modules/certificates/index.ts'
import { getLocal, parseJson } from './local-http.ts'
import { failed, ok, reasonOf, skipped, warning, type Check, type CheckResult, type Examined } from './check.ts'

/** Checks the certificates of the public addresses: their names, their authority, and their expiry. */
export const certificatesCheck: Check = {
  name: 'certificates',
  run: async (examined) => {
    const { config } = examined
    const urls = [
      ...(config.SHOAL_ROLES.includes('api') ? [config.publicUrl] : []),
      ...(config.SHOAL_ROLES.includes('gateway') ? [gatewayUrlOf(config, 'doctor')] : []),
    ]
    const origins = [...new Set(urls.map((url) => new URL(url).origin))]
    const results = await Promise.all(origins.map((origin) => checkOrigin(examined, new URL(origin))))
    return [...results, ...(await checkOrders(examined))]
  },
}

/** Checks that the last orders from the ACME authority succeeded, as the running server reports them. */
async function checkOrders({ config, servers }: Examined): Promise<CheckResult[]> {
  if (config.SHOAL_TLS !== 'acme' || servers.length === 0) return []
  const isApi = config.SHOAL_ROLES.includes('api')
  const page = await getLocal(
    `${localUrl(config.SHOAL_HOST, isApi ? config.SHOAL_PORT : config.SHOAL_GATEWAY_PORT)}/readyz`,
  )
  const facts = page && (parseJson(page.body) as { facts?: { certificates?: CertificateFact[] | null } } | null)?.facts
  return (facts?.certificates ?? []).map(orderResult)
}

function orderResult({ name, validUntil, failures, problem, nextOrderAt }: CertificateFact): CheckResult {
  const state = validUntil === null ? 'has no certificate yet' : `has a certificate until ${validUntil}`
  const next = nextOrderAt === null ? 'the first order has not started' : `the next order starts at ${nextOrderAt}`
  if (failures === 0)
    return validUntil === null
      ? warning('certificates', `${name} ${state}: ${next}`, 'Wait a minute. Otherwise read the log of the worker.')
      : ok('certificates', `${name} ${state}`)
  return warning(
    'certificates',
    `${name} ${state}: ${failures} failed orders, ${next}: ${problem}`,
    'Point the DNS record of this name to this host, and make ports 80 and 443 reachable for the certificate authority. Shoal retries automatically.',
  )
}

async function checkOrigin(
  { clock, config }: Examined,
  { protocol, hostname, port, origin }: URL,
): Promise<CheckResult> {
  if (protocol === 'http:')
    return isLoopback(origin)
      ? skipped('certificates', `${origin} is on this machine only`)
      : warning(
          'certificates',
          `${origin} is not encrypted: others on the network can read passwords and tokens`,
          'Put a proxy with TLS in front (docs/install/one-server.md) or set SHOAL_TLS, and set SHOAL_PUBLIC_URL and SHOAL_GATEWAY_URL.',
        )
  const remedy =
    config.SHOAL_TLS === 'off'
      ? 'Read the log of the proxy in front: it renews certificates.'
      : 'Read the log of the server: it renews certificates, or reads them from files (SHOAL_TLS).'
  try {
    const { validTo, problem } = await readCertificate(hostname, Number(port) || 443)
    const remainingMs = validTo.getTime() - clock.now().getTime()
    const finding = `${origin} is valid until ${validTo.toISOString()} (${Math.floor(remainingMs / days(1))} days)`
    if (remainingMs <= 0) return failed('certificates', `${origin} expired on ${validTo.toISOString()}`, remedy)
    if (problem) return failed('certificates', `${origin}: ${problem}`, remedy)
    return remainingMs < days(14) ? warning('certificates', finding, remedy) : ok('certificates', finding)
  } catch (error) {
    return failed('certificates', `${origin}: ${reasonOf(error)}`, 'Check DNS, the proxy in front and the firewall.')
  }
}

/** Reads the certificate of a server. `problem`: why clients reject it; null if they accept it. */
function readCertificate(host: string, port: number): Promise<{ validTo: Date; problem: string | null }> {
  return new Promise((done, fail) => {
    const servername = isIP(host) ? {} : { servername: host }
    // A rejected certificate is read too, and its problem reported. Nothing is sent over this connection.
    const socket = connect({ host, port, ...servername, rejectUnauthorized: false }, () => {
      const certificate = socket.getPeerCertificate()
      const problem = socket.authorized ? null : String(socket.authorizationError)
      done({ validTo: new Date(certificate.valid_to), problem })
      socket.end()
    })
    socket.setTimeout(5_000, () => socket.destroy(new Error('no response within five seconds')))
    socket.once('error', fail)
  })
}
