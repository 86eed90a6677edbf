import {
  createProcessDirectory,
  createRuntimeWithoutBuilder,
  createSimBuilder,
  createSimRuntime,
  openProcessRuntime,
  type Directory,
  type DriverName,
  type HostBuilderOptions,
  type NetworkTargets,
  type Runtime,
} from '@shoal/runtime'
import type { Logger } from 'pino'
import type { WorkerApp } from '../app.ts'
import type { Config } from '../config/config.ts'
import type { Sealer } from '../sealing/sealer.ts'
import { createKubernetesBackend } from './kubernetes-backend.ts'

export type SquidBackend = {
  /** Every process has it; only processes with the role worker or gateway start it. */
  directory: Directory
  /** Used by the active worker: installs the toolchain of squids, prepares this host. Adopts no containers before `Runtime.start`. */
  open: () => Promise<Pick<WorkerApp, 'runtime' | 'builder'>>
  /** Opens the runtime without a builder, for a command that has the installation to itself. */
  openRuntime: () => Promise<Runtime>
}

type BackendOptions = {
  stateDir: string
  targets: NetworkTargets
  sealer: Sealer
  log: Logger
  /** The id of this installation (`installationPrefix`). */
  installation: string
}

/** Creates the backend of each driver. */
const backends: Record<DriverName, (config: Config, options: BackendOptions) => SquidBackend> = {
  process: (config, options) => {
    const host = { ...hostOptions(config, options), sealer: options.sealer }
    return {
      directory: createProcessDirectory({ stateDir: options.stateDir }),
      open: () => openProcessRuntime(host),
      openRuntime: () => Promise.resolve(createRuntimeWithoutBuilder(host)),
    }
  },
  sim: () => {
    const runtime = createSimRuntime({ serve: true })
    return {
      directory: runtime.directory,
      open: async () => ({ runtime, builder: createSimBuilder() }),
      openRuntime: () => Promise.resolve(runtime),
    }
  },
  kubernetes: (config, options) => {
    if (!config.kubernetes) throw new Error('The settings of the cluster are missing')
    return createKubernetesBackend(config.kubernetes, options.installation, hostOptions(config, options))
  },
}

/** Creates the backend that SHOAL_RUNTIME selects. It changes nothing on the host before `open` and `Directory.start`. */
export const createSquidBackend = (config: Config, options: BackendOptions): SquidBackend =>
  backends[config.SHOAL_RUNTIME](config, options)

/** The options of what runs on this host: builds, and with the driver `process` the squids. */
const hostOptions = (config: Config, { stateDir, targets, log }: BackendOptions): HostBuilderOptions => ({
  stateDir,
  sandbox: config.SHOAL_SANDBOX,
  network: config.SHOAL_NETWORK,
  targets,
  containerDiskBytes: config.SHOAL_CONTAINER_DISK_MB * 2 ** 20,
  maxConcurrentBuilds: config.SHOAL_BUILDS_AT_ONCE,
  maxCacheBytes: config.SHOAL_BUILD_CACHE_MB * 1_000_000,
  registry: config.registry,
  env: config.environment,
  log: (message: string) => log.info(message),
})
