import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { registryAddress } from '../../scripts/kubernetes/control-plane.ts'
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

/** The folder with the registries that a node trusts. */
const registriesOf = (node: string) =>
  join(dirname(dirname(process.env['SHOAL_TEST_KUBECONFIG'] ?? '')), node, 'registries')

/** Lets the nodes pull from the registry `host` (`host:port`) without TLS, until the end of the test. */
export function trustRegistry(host: string): void {
  for (const { name } of nodes) {
    const folder = join(registriesOf(name), host)
    mkdirSync(folder)
    writeFileSync(join(folder, 'hosts.toml'), registryHosts(host))
    onTestFinished(() => rmSync(folder, { recursive: true }))
  }
}

/** Makes all nodes pull the images of the cluster's registry from `host` (`host:port`) instead, until the returned function is called or the test ends. */
export function redirectPulls(host: string): () => void {
  const files = nodes.map(({ name }) => join(registriesOf(name), registryAddress, 'hosts.toml'))
  const writeAll = (target: string) => {
    for (const file of files) writeFileSync(file, registryHosts(target))
  }
  const restore = () => writeAll(registryAddress)
  onTestFinished(restore)
  writeAll(host)
  return restore
}

/** Gives a node this address, at which it accepts connections on the port, until the end of the test. */
export async function listenOnNode(node: string, address: string, port: number): Promise<void> {
  const network = `--net=/proc/${firstProcessOf(node)}/ns/net`
  const onLoopback = (action: 'add' | 'delete') =>
    runProgram('nsenter', [network, 'ip', 'address', action, `${address}/32`, 'dev', 'lo'])
  onLoopback('add')
  onTestFinished(() => void onLoopback('delete'))
  const program = join(dirname(process.env['SHOAL_TEST_KUBE'] ?? ''), 'pod')
  const server = spawn('nsenter', [network, program, 'serve', String(port)], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void server.kill('SIGKILL'))
  await once(server.stdout, 'data')
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
