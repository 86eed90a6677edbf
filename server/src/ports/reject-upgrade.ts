import type { Duplex } from 'node:stream'

/** How long a caller whose upgrade was rejected may take to close its side of the connection. */
const maxCloseMs = 2_000

/** Rejects an upgrade with an HTTP response, and closes the connection; `body` is JSON, or empty. */
export function rejectUpgrade(socket: Duplex, status: number, body: string): void {
  // Node has removed its own listener: without one, a caller that resets the connection would end the process.
  socket.on('error', () => socket.destroy())
  socket.end(
    `HTTP/1.1 ${status} \r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
  destroyLater(socket)
}

/** Destroys a connection that the caller has not closed in time. The timeouts of the HTTP server do not apply to upgrades. */
export function destroyLater(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), maxCloseMs).unref()
  socket.once('close', () => clearTimeout(timer))
}
