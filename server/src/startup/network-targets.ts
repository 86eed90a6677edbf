import type { NetworkTarget, NetworkTargets } from '@shoal/runtime'
import { gatewayUrlOf, type Config } from '../config/config.ts'

/**
 * Returns the targets that squids may reach in addition to DNS and the public internet: the Postgres servers of squids, the gateway at its own port and
 * at its public URL, the local demo chain, and the targets in SHOAL_NETWORK_ALLOW. Builds may reach only the targets in SHOAL_NETWORK_ALLOW;
 * the runtime adds the npm registry.
 */
export function networkTargets(config: Config, squidsDatabaseUrls: string[]): NetworkTargets {
  const allowed = config.networkAllow
  const gateway = { host: '127.0.0.1', port: config.SHOAL_GATEWAY_PORT, showsClient: true }
  const urls = [gatewayUrlOf(config, 'org'), ...(config.SHOAL_DEVNET_URL ? [config.SHOAL_DEVNET_URL] : [])]
  // A program's connections that do not authenticate are not counted by the connection limits of roles.
  const databases = squidsDatabaseUrls.map((url) => limited(targetOf(url)))
  const targets = [gateway, ...databases, ...urls.map(targetOf), ...allowed]
  return { squid: targets.filter((target) => target !== null), build: allowed }
}

const defaultPorts: Record<string, number> = { 'http:': 80, 'https:': 443, 'ws:': 80, 'wss:': 443 }
const postgresPort = 5432

const limited = (target: NetworkTarget | null): NetworkTarget | null => target && { ...target, isLimited: true }

/** Returns the target of a URL; null for the URL of a Postgres that listens on a unix socket. */
function targetOf(text: string): NetworkTarget | null {
  const { hostname, port, protocol } = new URL(text)
  return hostname === '' ? null : { host: hostname, port: Number(port) || (defaultPorts[protocol] ?? postgresPort) }
}
