import { Server, type Socket } from 'node:net'
import { findListeningFd } from './open-sockets.ts'

export const loopbackAddress = '127.0.0.1'
export const loopback6Address = '::1'

/** Connections that wait in the kernel while the server restarts behind a socket of systemd; the kernel's own limit is 4,096. */
const backlog = 4_096

/**
 * Makes a server listen on an address: on the socket among `inheritedFds` that systemd has opened for it, otherwise it opens a port.
 * Without a host, it listens on all addresses.
 * @throws Error with the code EADDRINUSE if another program uses the port
 */
export async function openPort(
  server: Server,
  { port, host }: { port: number; host: string | undefined },
  inheritedFds: number[],
): Promise<void> {
  const fd = findInheritedFd(inheritedFds, { port, host })
  await new Promise<void>((done, failed) => {
    server.once('error', failed)
    if (fd === null) server.listen({ port, host, ipv6Only: host === loopback6Address }, done)
    else server.listen({ fd }, backlog, done)
  })
}

/** Returns the file descriptor of the socket that systemd has opened for an address; null if there is none. */
export function findInheritedFd(
  fds: number[],
  { port, host }: { port: number; host: string | undefined },
): number | null {
  // Without IPv6, 0.0.0.0 is the address of a socket for all addresses.
  const hosts = host === undefined ? ['::', '0.0.0.0'] : [host]
  return hosts.map((address) => findListeningFd(fds, { host: address, port })).find((fd) => fd !== null) ?? null
}

/** Listens on ::1. Returns null if this machine has no IPv6. @throws Error with the code EADDRINUSE if another program uses the port */
export async function openLoopback6(
  port: number,
  onConnection: (socket: Socket) => void,
  inheritedFds: number[],
): Promise<Server | null> {
  const server = new Server(onConnection)
  try {
    await openPort(server, { port, host: loopback6Address }, inheritedFds)
    return server
  } catch (error) {
    const hasNoIpv6 = error instanceof Error && 'code' in error && noIpv6Codes.has(String(error.code))
    if (hasNoIpv6) return null
    throw error
  }
}

const noIpv6Codes = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT'])
