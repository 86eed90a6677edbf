import type { Config } from '../config/config.ts'
import { findInheritedFd, loopback6Address, loopbackAddress } from './open-port.ts'

/** An address that a server listens on. Without a host: all addresses. */
export type ListenAddress = { host: string | undefined; port: number }

/** Returns the addresses where a process with these settings serves users. The port for health checks is not one of them. */
export function listenAddresses({ tls, ...config }: Config): ListenAddress[] {
  const hasRole = (role: 'api' | 'gateway') => config.SHOAL_ROLES.includes(role)
  const { SHOAL_HOST: host, SHOAL_TLS_HOST: tlsHost } = config
  const addresses = [
    ...(hasRole('api') ? [{ host, port: config.SHOAL_PORT }] : []),
    ...(hasRole('gateway') ? [{ host, port: config.SHOAL_GATEWAY_PORT }] : []),
    ...(tls && (hasRole('api') || hasRole('gateway'))
      ? [config.SHOAL_TLS_PORT, config.SHOAL_TLS_REDIRECT_PORT].map((port) => ({ host: tlsHost, port }))
      : []),
  ]
  return addresses.flatMap((address) =>
    address.host === loopbackAddress ? [address, { ...address, host: loopback6Address }] : [address],
  )
}

/** Returns the number of sockets that systemd has opened for this process at other addresses than its settings name. */
export function countUnusedSockets(config: Config): number {
  const used = new Set(listenAddresses(config).map((address) => findInheritedFd(config.inheritedFds, address)))
  return config.inheritedFds.filter((fd) => !used.has(fd)).length
}
