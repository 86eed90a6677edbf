import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildCollector, hasCollector } from '../../scripts/kubernetes/collector.ts'
import { pushImage } from '../../scripts/kubernetes/push-image.ts'
import { freePort } from './free-port.ts'
import { hasCluster, kubectl } from './kubernetes.ts'

const host = process.env['SHOAL_TEST_HOST_ADDRESS']
const registry = process.env['SHOAL_TEST_REGISTRY']

/** True if the nodes can pull a collector that was built here, and can reach this host. */
export const canInstallCollector = async (): Promise<boolean> =>
  hasCluster && host !== undefined && registry !== undefined && (await hasCollector())

/** The collectors on all nodes. They send logs with `token` to `host:port`, an address of this host. */
export type InstalledCollector = { host: string; port: number; token: string; remove: () => Promise<void> }

/** Installs docs/kubernetes-collector.yaml on all nodes, and waits until it runs. @param queueBytes replaces the size of the queue */
export async function installCollector(queueBytes?: number): Promise<InstalledCollector> {
  const token = randomBytes(16).toString('hex')
  const port = await freePort()
  const image = `${registry}/collector:${randomBytes(4).toString('hex')}`
  await pushImage(image, await buildCollector())
  const manifest = readFileSync(join(import.meta.dirname, '../../docs/kubernetes-collector.yaml'), 'utf8')
    .replace(/token: .* # change/, `token: ${token}`)
    .replace(/http:\S+ # change/, `http://${host}:${port}/v1/logs`)
    .replace(/image: \S+ # change.*/, `image: ${image}`)
    .replace(/(queue_size:) (\d+)/, (_, name: string, size: string) => `${name} ${queueBytes ?? size}`)
  await kubectl(['apply', '-f', '-'], manifest)
  await kubectl(['rollout', 'status', 'daemonset/collector', '-n', 'shoal-collector', '--timeout=120s'])
  return {
    host: host ?? '',
    port,
    token,
    async remove() {
      // Waits for the deletion, because the next test installs a collector with the same name.
      await kubectl(['delete', 'namespace', 'shoal-collector', '--timeout=50s'])
    },
  }
}
