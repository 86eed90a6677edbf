import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, type Dispatcher, fetch } from 'undici'
import { type FileLock, tryFileLock } from '../../runtime/src/file-lock.ts'
import { unpackedFolder } from '../debian-packages.ts'
import {
  apiServerUrl,
  registryAddress,
  startControlPlane,
  startControllers,
  writeCertificates,
} from './control-plane.ts'
import {
  Machine,
  endMachines,
  insideDebian,
  insideFolder,
  insideNode,
  insidePki,
  processesOfMachines,
} from './machine.ts'
import {
  clusterRange,
  connectMachines,
  disconnectHost,
  hostAddress,
  isHostConnected,
  nodes,
  requireFreeRange,
  serviceRange,
} from './network.ts'
import {
  cgroupsOf,
  createCgroup,
  isContainerdReady,
  podImage,
  removeCgroup,
  startContainerd,
  startNode,
  writeNodeConfig,
} from './node.ts'
import type { Programs } from './programs.ts'
import { pushImage } from './push-image.ts'

/** The folder of the cluster's files. It is fixed, like the addresses and cgroups, so only one cluster can run on a host. */
const folder = '/var/lib/shoal-test-cluster'
const logs = join(folder, 'logs')
const lockFile = '/run/shoal-test-cluster.lock'
const readyTimeoutMs = 60_000

let heldLock: FileLock | null = null

/**
 * Removes what a killed process left of an earlier cluster, and starts a cluster of two nodes. It ends with this process, even if this
 * process is killed.
 * @returns the environment variables for tests that use the cluster
 * @throws if another process runs a cluster, or if the nodes are not ready within a minute
 */
export async function startCluster(programs: Programs): Promise<Record<string, string>> {
  const lock = tryFileLock(lockFile, 'exclusive')
  if (!lock) throw new Error(`Another process runs a test cluster on this host (${lockFile}). Wait until it has ended.`)
  heldLock = lock
  try {
    removeCluster()
    requireFreeRange()
    mkdirSync(folder, { mode: 0o700, recursive: true })
    await start(programs)
    return environment(programs)
  } catch (error) {
    endCluster()
    throw error
  }
}

/** Returns whether this process runs a cluster. */
export function hasStartedCluster(): boolean {
  return heldLock !== null
}

/** Ends the cluster that this process started, if any, with all that runs in it. Synchronous, so that a signal handler can call it. */
export function endCluster(): void {
  if (!heldLock) return
  removeCluster()
  heldLock.release()
  heldLock = null
}

/** Removes everything of a cluster from the host: processes with their namespaces, mounts and links, then cgroups and files. */
function removeCluster(): void {
  endMachines()
  disconnectHost()
  for (const { name } of nodes) removeCgroup(name)
  rmSync(folder, { recursive: true, force: true })
}

/** Returns one line for each thing that is left of a cluster on this host. */
export function clusterLeftovers(): string[] {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n')
  return [
    ...processesOfMachines().map((pid) => `process ${pid}`),
    ...nodes.flatMap(({ name }) => cgroupsOf(name)).map((path) => `cgroup ${path}`),
    ...(isHostConnected() ? ['the link of the host'] : []),
    ...mounts.filter((mount) => mount.includes(folder)).map((mount) => `mount ${mount}`),
    ...(existsSync(folder) ? [`files in ${folder}`] : []),
  ]
}

async function start(programs: Programs): Promise<void> {
  const pki = join(folder, 'pki')
  writeCertificates(programs.kube, pki, apiServerUrl)
  const control = new Machine('control', logs)
  const machines = nodes.map(({ name }) => new Machine(name, logs))
  const all = [control, ...machines]
  const everywhere = {
    [insidePki]: pki,
    [`${insideFolder}/programs`]: dirname(programs.kube),
    [insideDebian]: unpackedFolder(''),
  }
  const controlFiles = Object.fromEntries(
    ['etcd', 'registry'].map((name) => [`${insideFolder}/${name}`, makeFolder(name)]),
  )
  await control.start(programs.pod, { ...everywhere, ...controlFiles })
  for (const [index, node] of nodes.entries()) {
    createCgroup(node.name)
    const nodeFolder = makeFolder(node.name)
    writeNodeConfig(node, nodeFolder)
    await machines[index]?.start(programs.pod, { ...everywhere, [insideNode]: nodeFolder })
  }
  connectMachines(control, machines)
  startControlPlane(control, folder)
  machines.forEach(startContainerd)
  const api = new Agent({ connect: clientCertificate(pki) })
  try {
    await until('The API server', all, async () => (await get(api, `${apiServerUrl}/readyz`)) === 'ok')
    startControllers(control)
    await until('containerd', all, async () => machines.every(isContainerdReady))
    for (const [index, node] of nodes.entries()) {
      const machine = machines[index]
      if (machine) startNode(machine, node)
    }
    await until('The registry', all, async () => (await get(api, `http://${registryAddress}/v2/`)) !== null)
    await pushImage(podImage, programs.pod)
    await until('The nodes', all, () => areNodesReady(api))
  } finally {
    await api.close()
  }
}

function makeFolder(name: string): string {
  const path = join(folder, name)
  mkdirSync(path, { recursive: true })
  return path
}

function clientCertificate(pki: string) {
  const read = (file: string) => readFileSync(join(pki, file))
  return { ca: read('ca.crt'), cert: read('admin.crt'), key: read('admin.key') }
}

/** Returns the body of a successful response, otherwise null. */
async function get(dispatcher: Dispatcher, url: string): Promise<string | null> {
  try {
    const response = await fetch(url, { dispatcher, signal: AbortSignal.timeout(5000) })
    const body = await response.text()
    return response.ok ? body : null
  } catch {
    return null
  }
}

/** Returns whether both nodes are ready, and pods can be created in the default namespace. */
async function areNodesReady(api: Dispatcher): Promise<boolean> {
  const list = await get(api, `${apiServerUrl}/api/v1/nodes`)
  type Node = { status: { conditions?: { type: string; status: string }[] } }
  const items = list === null ? [] : (JSON.parse(list) as { items: Node[] }).items
  const ready = items.filter(({ status }) =>
    status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True'),
  )
  if (ready.length < nodes.length) return false
  return (await get(api, `${apiServerUrl}/api/v1/namespaces/default/serviceaccounts/default`)) !== null
}

/** Waits until `isReady` returns true. @throws with the end of the logs if a part of the cluster ends, or after the timeout */
async function until(name: string, machines: Machine[], isReady: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + readyTimeoutMs
  while (!(await isReady())) {
    const ended = machines.flatMap(({ endedParts }) => endedParts)
    if (ended.length > 0) throw new Error(`A part of the test cluster has ended.\n${lastLines(ended)}`)
    if (performance.now() > deadline) {
      throw new Error(
        `${name} of the test cluster did not become ready.\n${lastLines(readdirSync(logs).map((file) => basename(file, '.log')))}`,
      )
    }
    await delay(100)
  }
}

function lastLines(parts: readonly string[]): string {
  const lines = (part: string) =>
    readFileSync(join(logs, `${part}.log`), 'utf8')
      .trim()
      .split('\n')
      .slice(-5)
      .join('\n')
  return parts.map((part) => `${part}:\n${lines(part)}`).join('\n')
}

function environment({ kube }: Programs): Record<string, string> {
  return {
    SHOAL_TEST_KUBECONFIG: join(folder, 'pki/admin.conf'),
    SHOAL_TEST_KUBE: kube,
    SHOAL_TEST_KUBECTL: `${kube} kubectl`,
    SHOAL_TEST_POD_IMAGE: podImage,
    SHOAL_TEST_REGISTRY: registryAddress,
    SHOAL_TEST_HOST_ADDRESS: hostAddress,
    // Requests to the cluster must not use a proxy, which cannot reach it.
    NO_PROXY: [process.env['NO_PROXY'] ?? process.env['no_proxy'], clusterRange, serviceRange]
      .filter(Boolean)
      .join(','),
  }
}
