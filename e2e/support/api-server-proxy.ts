import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { kubectl } from './kubernetes.ts'

type Config = { clusters: { cluster: { server: string } }[] }

/** Starts a TCP proxy to the API server, until the end of the test. Returns a kubeconfig that uses the proxy, and functions that cut and restore its connections. */
export async function proxyApiServer(): Promise<{ kubeconfig: string; cut: () => void; restore: () => void }> {
  const config = JSON.parse(await kubectl(['config', 'view', '--raw', '--minify', '--flatten', '-o', 'json'])) as Config
  const [{ cluster } = { cluster: { server: '' } }] = config.clusters
  const url = new URL(cluster.server)
  let isCut = false
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    if (isCut) {
      socket.destroy()
      return
    }
    const upstream = connect(Number(url.port || 443), url.hostname)
    for (const end of [socket, upstream]) {
      sockets.add(end)
      end.on('error', () => undefined)
      end.on('close', () => {
        sockets.delete(end)
        for (const other of [socket, upstream]) other.destroy()
      })
    }
    socket.pipe(upstream).pipe(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const folder = mkdtempSync(join(tmpdir(), 'kube-connection-'))
  const kubeconfig = join(folder, 'config')
  const { port } = server.address() as AddressInfo
  Object.assign(cluster, { server: `https://127.0.0.1:${port}`, 'tls-server-name': url.hostname })
  writeFileSync(kubeconfig, JSON.stringify(config))
  const cut = () => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  onTestFinished(() => {
    cut()
    server.close()
    rmSync(folder, { recursive: true })
  })
  return { kubeconfig, cut, restore: () => void (isCut = false) }
}
