import { connect as connectSocket } from 'node:net'
import { once } from 'node:events'
import { npmTargets, readNpmConfig } from '../../build/npm-config.ts'
import type { Toolchain } from '../../build/toolchain.ts'
import { DEFAULT_NODE } from '../../build/tools.ts'
import { BuildFailure, type Builder } from '../../builder.ts'
import { type BuilderSettings, openBuilder } from '../../host-builder.ts'
import type { ImageRegistry } from '../../images/image-registry.ts'
import { resolveTargets } from '../../process/network/addresses.ts'
import type { NetworkTarget } from '../../process/network/network.ts'
import { KubeClient } from '../client/kube-client.ts'
import { loadKubeConfig } from '../client/load-config.ts'
import { BuildJobs, type BuildJobsOptions } from './build-jobs.ts'
import { BuildServer } from './build-server.ts'
import { jobBackend } from './job-backend.ts'

export type JobBuilderOptions = BuilderSettings &
  BuildJobsOptions & {
    kubeconfig: string | null
    /** Addresses that builds may reach in addition to DNS, the public internet and the npm registry. */
    targets: NetworkTarget[]
    /** The address at which containers reach this process; null: the address from which it reaches the cluster, with any free port. */
    listen: { host: string; port: number } | null
  }

/**
 * Opens a builder whose programs run as Jobs in the namespaces of tenants. Images are packed and pushed by this process, so Jobs have no
 * credentials. The first call downloads the toolchain of squids.
 * @throws Error when the toolchain cannot be installed, or a setting of the registry is invalid
 */
export async function openJobBuilder(options: JobBuilderOptions): Promise<Builder> {
  const npmConfig = await readNpmConfig({ command: ['npm'], env: options.env })
  const targets = [...options.targets, ...npmTargets(npmConfig)]
  let connected: Promise<BuildJobs> | null = null
  const connect = async () => {
    connected ??= connectJobs(options, targets)
    try {
      return await connected
    } catch (error) {
      connected = null
      throw error
    }
  }
  return await openBuilder(options, 'in registry', npmConfig, (registry, toolchain) => {
    if (registry === null) throw new Error('Builds in a cluster need a registry: set SHOAL_REGISTRY')
    // In advance, since the first build would wait for it. If the push fails, the first build repeats it and reports the reason.
    pushToolsImage(registry, toolchain).catch(() => undefined)
    return jobBackend({ connect, registry })
  })
}

/** Pushes the image of builds with the default Node and npm, unless the registry has it. */
async function pushToolsImage(registry: ImageRegistry, toolchain: Toolchain): Promise<void> {
  const { binDir: nodeBinDir } = await toolchain.node(DEFAULT_NODE)
  const tools = { nodeBinDir, toolchainBinDir: toolchain.binDir, managerBinDir: null }
  await registry.toolsImage(tools, new AbortController().signal)
}

async function connectJobs(options: JobBuilderOptions, targets: NetworkTarget[]): Promise<BuildJobs> {
  const config = await loadKubeConfig(options.kubeconfig)
  const { host: listenHost, port } = options.listen ?? { host: null, port: 0 }
  const isUnspecified = listenHost === null || listenHost === '0.0.0.0' || listenHost === '::'
  const host = isUnspecified ? await localAddress(new URL(config.getCurrentCluster()?.server ?? '')) : listenHost
  const resolved = await resolveTargets(targets)
  // The server starts last, since nothing closes it if a later step fails.
  const server = await BuildServer.listen(listenHost ?? host, port)
  const egressTo = [...resolved, { cidr: host, port: server.port }]
  const url = `http://${host}:${server.port}`
  options.log(`Builds run in the cluster and reach this worker at ${url}`)
  return new BuildJobs(options, { client: new KubeClient(config), server, url, egressTo })
}

const CONNECT_TIMEOUT_MS = 10_000

/** Returns the address from which this host connects to the API server, at which pods can reach this host. @throws BuildFailure */
async function localAddress({ hostname, port, protocol }: URL): Promise<string> {
  const signal = AbortSignal.timeout(CONNECT_TIMEOUT_MS)
  const socket = connectSocket({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (protocol === 'http:' ? 80 : 443),
  })
  try {
    await once(socket, 'connect', { signal })
    const address = socket.localAddress ?? ''
    if (address.startsWith('127.') || address === '::1')
      throw new BuildFailure(
        'UNEXPECTED',
        'Builds in the cluster cannot connect to the worker, which reaches the API server at a loopback address. The operator must set SHOAL_KUBE_BUILDS_LISTEN.',
      )
    return address
  } catch (error) {
    if (error instanceof BuildFailure) throw error
    throw new BuildFailure('UNEXPECTED', "The cluster's API server does not respond. Deploy again in a few minutes.")
  } finally {
    socket.destroy()
  }
}
