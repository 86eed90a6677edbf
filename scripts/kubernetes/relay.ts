import { type AddressInfo, type Server, connect, createServer } from 'node:net'

/** Accepts connections on an address of this host, and relays them to a port of loopback. */
export async function relay(host: string, port: number): Promise<{ port: number; server: Server }> {
  const server = createServer((socket) => {
    const upstream = connect(port, '127.0.0.1')
    socket.pipe(upstream).pipe(socket)
    socket.on('error', () => upstream.destroy())
    upstream.on('error', () => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return { port: (server.address() as AddressInfo).port, server }
}
