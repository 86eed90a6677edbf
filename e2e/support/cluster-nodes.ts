import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { firstProcessOf, runProgram } from '../../scripts/kubernetes/machine.ts'
import { controlAddress, nodes } from '../../scripts/kubernetes/network.ts'
import { registryHosts } from '../../scripts/kubernetes/node.ts'
import { kubectl, nodeNames, tryKubectl } from './kubernetes.ts'

/** True if the nodes of the cluster are namespaces of this host, so that a test can cut their connections. */
export const hasOwnNodes = process.env['SHOAL_TEST_KUBE'] !== undefined

/**
 * Cuts a node off from the control plane and from `addresses`, in both directions. Its pods keep running and can reach all other
 * addresses, such as this host. Returns a function that restores the connections; the end of the test does that too, and waits until
 * the node is ready.
 */
export function cutOff(node: string, addresses: string[] = []): () => void {
  const target = `--net=/proc/${firstProcessOf(node)}/ns/net`
  const route = (action: 'add' | 'delete') => {
    for (const address of [controlAddress, ...addresses])
      runProgram('nsenter', [target, 'ip', 'route', action, 'blackhole', `${address}/32`])
  }
  route('add')
  let isCut = true
  const restore = () => {
    if (isCut) route('delete')
    isCut = false
  }
  onTestFinished(async () => {
    restore()
    await tryKubectl(['wait', `node/${node}`, '--for=condition=Ready', '--timeout=50s'])
  }, 60_000)
  return restore
}

/** Lets the nodes pull from the registry `host` (`host:port`) without TLS, until the end of the test. */
export function trustRegistry(host: string): void {
  for (const { name } of nodes) {
    const folder = join(dirname(dirname(process.env['SHOAL_TEST_KUBECONFIG'] ?? '')), name, 'registries', host)
    mkdirSync(folder)
    writeFileSync(join(folder, 'hosts.toml'), registryHosts(host))
    onTestFinished(() => rmSync(folder, { recursive: true }))
  }
}

/** Lets new pods run only on this node, until the returned function is called or the test ends. */
export async function schedulePodsOnlyOn(node: string): Promise<() => Promise<void>> {
  const others = (await nodeNames()).filter((name) => name !== node)
  const allow = async () => void (await kubectl(['uncordon', ...others]))
  onTestFinished(allow)
  await kubectl(['cordon', ...others])
  return allow
}

/**
 * Drains the selected pods from a node, as an operator does before maintenance. Returns a function that lets pods run on the node
 * again; the end of the test does that too.
 */
export async function drain(node: string, selector: string): Promise<() => Promise<void>> {
  const undo = async () => void (await kubectl(['uncordon', node]))
  onTestFinished(undo)
  await kubectl(['drain', node, '--pod-selector', selector, '--delete-emptydir-data', '--timeout=50s'])
  return undo
}
