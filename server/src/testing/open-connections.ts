import { readFileSync } from 'node:fs'

/** Returns the connections of a port of this machine that the server has not closed, from `/proc/net/tcp`. */
export function openConnections(port: number): { isKeptAlive: boolean }[] {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0')
  const rows = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1)
  const connections = rows.map((row) => {
    const [, local = '', , state = '', , timer = '', , , , inode = ''] = row.trim().split(/\s+/)
    // A connection that the server has closed has the inode 0.
    return { local, isKeptAlive: timer.startsWith('02:'), isOpen: inode !== '0' && state !== '0A' }
  })
  return connections.filter(({ local, isOpen }) => isOpen && local.endsWith(`:${hexPort}`))
}
