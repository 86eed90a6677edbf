import { type AddressInfo, type Server, connect, createServer } from 'node:net'

/**
 * Accepts connections on an address of this host, and relays them to a port of loopback. `listenPort` 0: a free port.
 * @throws Error if the address or port is not available
 */
export async function relay(host: string, port: number, listenPort = 0): Promise<{ port: number; server: Server }> {
  const server = createServer((socket) => {
    const upstream = connect(port, '127.0.0.1')
    socket.pipe(upstream).pipe(socket)
    socket.on('error', () => upstream.destroy())
    upstream.on('error', () => socket.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(listenPort, host, resolve)
  })
  return { port: (server.address() as AddressInfo).port, server }
}
