import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { hasCluster, kubectl } from '../support/kubernetes.ts'
import { container, openDriver, workload } from './driver-harness.ts'

type Config = { clusters: { cluster: { server: string } }[] }

/** Returns a kubeconfig whose API server is behind a connection that can be cut and restored. */
async function openConnection(): Promise<{ kubeconfig: string; cut: () => void; restore: () => void }> {
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

describe.skipIf(!hasCluster)('while the API server does not answer', () => {
  test('the state is unknown, endpoints remain, and what happened is known afterwards', async () => {
    const { kubeconfig, cut, restore } = await openConnection()
    const { runtime, directory, namespace, observe, until } = await openDriver({ kubeconfig })
    await runtime.apply(workload([container('api'), container('processor')]))
    for (const name of ['api', 'processor']) await until(name, { state: 'running' })
    await expect.poll(() => directory.endpoint('12.1', 'api', 4350)).not.toBeNull()
    const [api, endpoint] = [await observe('api'), directory.endpoint('12.1', 'api', 4350)]
    cut()
    const state = () => runtime.observe().then(() => 'known', String)
    await expect.poll(state, { timeout: 30_000 }).toContain('in the cluster is not known')
    await expect(runtime.apply(workload([container('api')]))).rejects.toThrow('in the cluster is not known')
    expect(directory.endpoint('12.1', 'api', 4350)).toEqual(endpoint)
    const selector = ['-n', namespace, '-l', 'shoal.dev/container=processor']
    await kubectl(['delete', 'pods', ...selector, '--wait=false'])
    restore()
    await expect
      .poll(() => observe('processor').catch(() => null), { timeout: 90_000 })
      .toMatchObject({
        state: 'running',
        run: { ordinal: 1 },
        lastRun: { ordinal: 0, how: 'evicted' },
      })
    expect(await observe('api')).toEqual(api)
  })
})
