import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { pushImage } from '../../scripts/kubernetes/push-image.ts'
import { startRegistry } from '../../scripts/registry.ts'
import { relayTo } from './cluster-cloud.ts'
import { trustRegistry } from './cluster-nodes.ts'

/** The password file of the registry: the user `me` with the password `a-password`, hashed with bcrypt. */
const htpasswd = 'me:$2y$05$abcdefghijklmnopqrstuubsRD.Ffj/ka0r3BpAjv57rF8oK.y5YW\n'

/** Starts a registry with a password on loopback, until the end of the test. Returns its `host:port`, and the one at which the nodes reach it. */
export async function startPasswordRegistry(): Promise<{ local: string; host: string }> {
  const registry = await startRegistry({ htpasswd })
  onTestFinished(() => registry.stop())
  const relay = await relayTo(Number(registry.host.split(':')[1]))
  onTestFinished(() => void relay.server.close())
  return { local: registry.host, host: `${process.env['SHOAL_TEST_HOST_ADDRESS']}:${relay.port}` }
}

/** Starts a registry with a password, until the end of the test, and the image of `test/kube/pod`, from which the nodes can pull. Returns its `host:port` and the name of the image. */
export async function startPrivateRegistry(): Promise<{ host: string; image: string }> {
  const { local, host } = await startPasswordRegistry()
  const program = join(dirname(process.env['SHOAL_TEST_KUBE'] ?? ''), 'pod')
  const authorization = `Basic ${Buffer.from('me:a-password').toString('base64')}`
  await pushImage(`${local}/private/pod:1`, program, authorization)
  trustRegistry(host)
  return { host, image: `${host}/private/pod:1` }
}
