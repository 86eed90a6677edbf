import {
  createProcessDirectory,
  createRuntimeWithoutBuilder,
  createSimBuilder,
  createSimRuntime,
  openProcessRuntime,
  type Directory,
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

/** Creates the backend that SHOAL_RUNTIME selects. It changes nothing on the host before `open` and `Directory.start`. */
export function createSquidBackend(
  config: Config,
  { stateDir, targets, sealer, log, installation }: BackendOptions,
): SquidBackend {
  if (config.SHOAL_RUNTIME === 'sim') {
    const runtime = createSimRuntime({ serve: true })
    return {
      directory: runtime.directory,
      open: async () => ({ runtime, builder: createSimBuilder() }),
      openRuntime: () => Promise.resolve(runtime),
    }
  }
  const host = {
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
  }
  if (config.kubernetes) return createKubernetesBackend(config.kubernetes, installation, host)
  return {
    directory: createProcessDirectory({ stateDir }),
    open: () => openProcessRuntime({ ...host, sealer }),
    openRuntime: () => Promise.resolve(createRuntimeWithoutBuilder({ ...host, sealer })),
  }
}
