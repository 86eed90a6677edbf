import ipaddr from 'ipaddr.js'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { endianness } from 'node:os'

/** The state of a listening socket in `/proc/net/tcp`. */
const listening = '0A'

/** A listening socket: its local address as the kernel writes it, in hexadecimal. */
type ListeningSocket = { address: string; port: number; inode: string }

/**
 * Returns whether a process listens on a TCP port.
 * Returns null if this cannot be determined: the system has no `/proc`, or this user may not read the files of the process.
 */
export function listensOn(pid: number, port: number): boolean | null {
  try {
    const inodes = new Set(listeningSockets(pid).flatMap((socket) => (socket.port === port ? [socket.inode] : [])))
    return readdirSync(`/proc/${pid}/fd`).some((fd) => inodes.has(inodeOf(pid, fd)))
  } catch {
    return null
  }
}

/** Returns whether systemd itself listens on a TCP port, for a socket unit. Returns false if this user may not read the files of systemd. */
export function systemdListensOn(port: number): boolean {
  const isSystemd = existsSync('/proc/1/comm') && readFileSync('/proc/1/comm', 'utf8').trim() === 'systemd'
  return isSystemd && listensOn(1, port) === true
}

/** Returns the one of these file descriptors of this process that listens on an address; null if none does. `host` is an IP address or a name. */
export function findListeningFd(fds: number[], { host, port }: { host: string; port: number }): number | null {
  if (fds.length === 0 || !ipaddr.isValid(host)) return null
  const address = kernelAddress(host)
  const sockets = listeningSockets(process.pid).filter((socket) => socket.address === address && socket.port === port)
  return fds.find((fd) => sockets.some(({ inode }) => inode === inodeOf(process.pid, String(fd)))) ?? null
}

function listeningSockets(pid: number): ListeningSocket[] {
  return ['tcp', 'tcp6'].flatMap((table) =>
    readTable(`/proc/${pid}/net/${table}`).flatMap((line) => {
      const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/)
      const [address, port] = local.split(':')
      if (state !== listening || address === undefined || port === undefined || inode === undefined) return []
      return [{ address, port: Number.parseInt(port, 16), inode }]
    }),
  )
}

/** Returns an IP address as the kernel writes it: each four bytes as one number in this machine's byte order. */
function kernelAddress(host: string): string {
  const bytes = Buffer.from(ipaddr.parse(host).toByteArray())
  return (endianness() === 'LE' ? bytes.swap32() : bytes).toString('hex').toUpperCase()
}

/** Returns the rows of a table; none if the kernel has no IPv6 and so lacks `tcp6`. */
function readTable(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').slice(1)
  } catch {
    return []
  }
}

/** Returns the inode of a socket; an empty string for other files, or if the file has been closed in the meantime. */
function inodeOf(pid: number, fd: string): string {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? ''
  } catch {
    return ''
  }
}
