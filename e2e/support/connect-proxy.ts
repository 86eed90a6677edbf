import { type AddressInfo, connect } from 'node:net'
import { createServer } from 'node:http'

export type ConnectProxy = { url: string; close: () => void }

/** Starts an HTTP proxy that accepts only CONNECT, on an address of this host. Pods of the test cluster reach the npm registry through it. */
export async function startConnectProxy(host: string): Promise<ConnectProxy> {
  const server = createServer((_request, response) => void response.writeHead(405).end())
  server.on('connect', (request, socket) => {
    const { hostname, port } = new URL(`http://${request.url}`)
    const upstream = connect(Number(port) || 443, hostname)
    upstream.once('connect', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(upstream).pipe(socket)
    })
    upstream.on('error', () => socket.destroy())
    socket.on('error', () => upstream.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://${host}:${(server.address() as AddressInfo).port}`, close }
}
