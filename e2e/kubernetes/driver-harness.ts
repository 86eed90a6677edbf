import { randomBytes } from 'node:crypto'
import { type AddressInfo, createServer } from 'node:net'
import {
  createKubernetesDirectory,
  createKubernetesRuntime,
  type ContainerSpec,
  type Directory,
  type KubernetesOptions,
  type LogCursor,
  type Observation,
  type Runtime,
  type Workload,
} from '@shoal/runtime'
import { expect, onTestFinished } from 'vitest'
import { kubectl, podImage } from '../support/kubernetes.ts'

const MIB = 1024 * 1024

export type Driver = {
  runtime: Runtime
  directory: Directory
  options: KubernetesOptions
  /** The namespace of the tenant `7`. */
  namespace: string
  /** Returns the observation of a container of the workload `id`, by default `12.1`; undefined if there is none. */
  observe: (container: string, id?: string) => Promise<Observation | undefined>
  /** Waits until that observation has the fields of `expected`. @throws after a minute */
  until: (container: string, expected: object, id?: string) => Promise<void>
  /** Closes the runtime, and starts another one for the same installation with these changed options, as a restarted server does. */
  restart: (changed?: Partial<KubernetesOptions>) => Promise<Runtime>
}

/** Returns options for a driver of a new installation. */
export const driverOptions = (overrides: Partial<KubernetesOptions> = {}): KubernetesOptions => ({
  installation: `t${randomBytes(4).toString('hex')}`,
  kubeconfig: process.env['SHOAL_TEST_KUBECONFIG'] ?? null,
  kubeletCaFile: null,
  logListener: null,
  cpuRequestRatio: 0.1,
  runtimeClass: null,
  containerDiskBytes: 0,
  ingressFrom: [{ cidr: `${process.env['SHOAL_TEST_HOST_ADDRESS'] ?? '0.0.0.0'}/32` }],
  egressTo: [],
  quota: { pods: '20', 'limits.cpu': '20', 'limits.memory': '8Gi' },
  registryAuth: null,
  log: () => undefined,
  ...overrides,
})

/** Starts a runtime and a directory for a new installation. At the end of the test, its namespaces are deleted. */
export async function openDriver(overrides: Partial<KubernetesOptions> = {}): Promise<Driver> {
  const options = driverOptions(overrides)
  const { installation } = options
  const start = async () => {
    const runtime = createKubernetesRuntime(options)
    await runtime.start()
    return runtime
  }
  const driver: Driver = {
    runtime: await start(),
    directory: createKubernetesDirectory(options),
    options,
    namespace: `shoal-${installation}-o7`,
    observe: async (container, id = '12.1') =>
      (await driver.runtime.observe()).find(
        (observation) => observation.workload === id && observation.container === container,
      ),
    until: (container, expected, id) =>
      expect.poll(() => driver.observe(container, id), { timeout: 60_000, interval: 50 }).toMatchObject(expected),
    async restart(changed = {}) {
      Object.assign(options, changed)
      await driver.runtime.close('keep')
      driver.runtime = await start()
      return driver.runtime
    },
  }
  await driver.directory.start()
  onTestFinished(async () => {
    await driver.directory.close()
    await driver.runtime.close('keep')
    await kubectl(['delete', 'namespace', '-l', `shoal.dev/installation=${installation}`, '--wait=false'])
  })
  return driver
}

/** Returns a container of the image of `test/kube/pod`. */
export const container = (name: string, overrides: Partial<ContainerSpec> = {}): ContainerSpec => ({
  name,
  command: ['serve', '4350'],
  env: {},
  resources: { cpuCores: 0.2, memoryBytes: 64 * MIB },
  restart: name.startsWith('api') ? 'always' : 'on-failure',
  ports: name.startsWith('api') ? [4350] : [],
  stopGraceMs: 1000,
  ...overrides,
})

/** Returns a workload of the tenant `7` with these containers. */
export const workload = (containers: ContainerSpec[], overrides: Partial<Workload> = {}): Workload => ({
  id: '12.1',
  tenant: '7',
  version: '12',
  image: podImage,
  containers,
  ...overrides,
})

/** Starts counting the pods of a container that are pending or running. `end` returns the maximum at one time. */
export function countConcurrentPods(namespace: string, name: string): { end: () => Promise<number> } {
  let max = 0
  let isEnding = false
  const selector = `shoal.dev/container=${name}`
  const watching = (async () => {
    while (!isEnding) {
      const output = await kubectl([
        'get',
        'pods',
        '-n',
        namespace,
        '-l',
        selector,
        '-o',
        'jsonpath={.items[*].status.phase}',
      ])
      const alive = output.split(' ').filter((phase) => phase === 'Running' || phase === 'Pending')
      max = Math.max(max, alive.length)
    }
  })()
  return {
    async end() {
      isEnding = true
      await watching
      return max
    },
  }
}

/** Accepts connections on this host's address in the cluster's network, until the end of the test. */
export async function listenOnHost(): Promise<{ port: number }> {
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, process.env['SHOAL_TEST_HOST_ADDRESS'], resolve))
  onTestFinished(() => {
    server.close()
  })
  return { port: (server.address() as AddressInfo).port }
}

/** Reads logs from `cursor`, and advances it, until `isEnough` returns true or 150 seconds have passed. Adds each line to `lines`, as `<container>: <text>`. */
export async function readLogs(
  runtime: Runtime,
  cursor: LogCursor,
  lines: string[],
  isEnough: () => boolean,
): Promise<void> {
  if (isEnough()) return
  const ending = AbortSignal.timeout(150_000)
  const enough = new AbortController()
  for await (const batch of runtime.logs({ ...cursor }, AbortSignal.any([ending, enough.signal]))) {
    lines.push(...batch.lines.map((line) => `${line.container}: ${line.text}`))
    Object.assign(cursor, batch.cursor)
    if (isEnough()) enough.abort()
  }
}
