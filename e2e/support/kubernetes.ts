import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** True if the tests have a cluster: one that `npm run test:kubernetes` started, or that of SHOAL_TEST_KUBECONFIG. */
export const hasCluster = process.env['SHOAL_TEST_KUBECONFIG'] !== undefined

/** The name by which nodes pull the image of `test/kube/pod`. */
export const podImage = process.env['SHOAL_TEST_POD_IMAGE'] ?? ''

export type CommandResult = { code: number; output: string }

/** Runs kubectl as the cluster's administrator, with `input` on stdin. Returns its exit code and all of its output. */
export async function tryKubectl(args: string[], input = ''): Promise<CommandResult> {
  const [file = '', ...firstArgs] = (process.env['SHOAL_TEST_KUBECTL'] ?? 'kubectl').split(' ')
  const env = { ...process.env, KUBECONFIG: process.env['SHOAL_TEST_KUBECONFIG'] }
  const child = spawn(file, [...firstArgs, ...args], { env, timeout: 60_000, killSignal: 'SIGKILL' })
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 1))
  })
  child.stdin.on('error', () => undefined).end(input)
  const [out, error, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, output: `${out}${error}`.trim() }
}

/** Like `tryKubectl`. @throws with the output if kubectl fails */
export async function kubectl(args: string[], input = ''): Promise<string> {
  const { code, output } = await tryKubectl(args, input)
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${output}`)
  return output
}

/** Creates or updates objects with `kubectl apply`. @throws with the output if kubectl fails */
export async function applyObjects(...objects: object[]): Promise<void> {
  await kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }))
}

/** Creates a namespace that is deleted at the end of the test. Returns its name. */
export async function createNamespace(labels: Record<string, string> = {}): Promise<string> {
  const name = `shoal-test-${randomBytes(4).toString('hex')}`
  await applyObjects({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
  onTestFinished(async () => {
    await kubectl(['delete', 'namespace', name, '--wait=false'])
  })
  return name
}

/** Returns the names of the nodes on which pods can run. */
export async function nodeNames(): Promise<string[]> {
  const { items } = JSON.parse(await kubectl(['get', 'nodes', '-o', 'json'])) as {
    items: { metadata: { name: string }; spec: { unschedulable?: boolean; taints?: unknown[] } }[]
  }
  return items.filter(({ spec }) => !spec.unschedulable && !spec.taints).map(({ metadata }) => metadata.name)
}

type PodOptions = { node?: string; labels?: Record<string, string>; args?: string[]; isPrivileged?: boolean }

/** Returns a pod that responds to HTTP requests on port 8080. Unless it is privileged, it meets Pod Security's level "restricted". */
export function podObject(namespace: string, name: string, options: PodOptions = {}): object {
  const { node, labels = {}, args = ['serve', '8080'], isPrivileged = false } = options
  const restricted = {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    runAsUser: 1000,
    seccompProfile: { type: 'RuntimeDefault' },
  }
  const securityContext = isPrivileged ? { privileged: true } : restricted
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, labels },
    spec: {
      ...(node ? { nodeName: node } : {}),
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: podImage, args, securityContext }],
    },
  }
}

/** Starts pods, given by name, and waits until they are ready. Returns their IP addresses by name. */
export async function startPods(namespace: string, pods: Record<string, PodOptions>): Promise<Record<string, string>> {
  await applyObjects(...Object.entries(pods).map(([name, options]) => podObject(namespace, name, options)))
  const names = Object.keys(pods).map((name) => `pod/${name}`)
  await kubectl(['wait', '-n', namespace, '--for=condition=Ready', '--timeout=60s', ...names])
  const { items } = JSON.parse(await kubectl(['get', 'pods', '-n', namespace, '-o', 'json'])) as {
    items: { metadata: { name: string }; status: { podIP: string } }[]
  }
  return Object.fromEntries(items.map(({ metadata, status }) => [metadata.name, status.podIP]))
}

/** Returns whether the pod can connect to `host:port` within two seconds. */
export async function canConnect(namespace: string, pod: string, target: string): Promise<boolean> {
  const { code, output } = await tryKubectl(['exec', '-n', namespace, pod, '--', '/pod', 'connect', target])
  // Errors of kubectl itself, such as a refused connection to the node, say nothing about the pod's connection.
  const isConnectionError =
    /timeout|refused|no route|unreachable/.test(output) && output.includes('terminated with exit code 1')
  if (code !== 0 && !isConnectionError) throw new Error(output)
  return code === 0
}
