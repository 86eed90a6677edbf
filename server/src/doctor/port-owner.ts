import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** The state of a listening socket in `/proc/net/tcp`. */
const listening = '0A'

/**
 * Returns whether a process listens on a TCP port.
 * Returns null if this cannot be determined: the system has no `/proc`, or this user may not read the files of the process.
 */
export function listensOn(pid: number, port: number): boolean | null {
  try {
    const inodes = new Set(['tcp', 'tcp6'].flatMap((table) => inodesIn(`/proc/${pid}/net/${table}`, port)))
    const links = readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`))
    return links.some((link) => inodes.has(/^socket:\[(\d+)\]$/.exec(link)?.[1] ?? ''))
  } catch {
    return null
  }
}

/** Returns the inodes of the sockets that listen on the port. */
function inodesIn(table: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const rows = readTable(table).map((line) => line.trim().split(/\s+/))
  return rows.flatMap(([, local, , state, , , , , , inode]) =>
    local?.endsWith(suffix) && state === listening && inode !== undefined ? [inode] : [],
  )
}

/** Returns the rows of a table; none if the kernel has no IPv6 and so lacks `tcp6`. */
function readTable(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').slice(1)
  } catch {
    return []
  }
}

/** Returns the target of a link; an empty string if the file has been closed in the meantime. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
