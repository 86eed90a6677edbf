import {
  createProcessDirectory,
  createSimBuilder,
  createSimRuntime,
  openProcessRuntime,
  type Directory,
} from '@shoal/runtime'
import type { Logger } from 'pino'
import type { WorkerApp } from '../app.ts'
import type { Config } from '../config/config.ts'

export type SquidBackend = {
  /** For every role. */
  directory: Directory
  /** For the worker: installs what squids need and prepares this host. Adopts nothing before `Runtime.start`. */
  open: () => Promise<Pick<WorkerApp, 'runtime' | 'builder'>>
}

/** Where squids run, as the settings say. Nothing of the host is touched before `open` and `Directory.start`. */
export function squidBackendOf(config: Config, stateDir: string, log: Logger): SquidBackend {
  if (config.SHOAL_RUNTIME === 'sim') {
    const runtime = createSimRuntime({ serve: true })
    return { directory: runtime.directory, open: async () => ({ runtime, builder: createSimBuilder() }) }
  }
  return {
    directory: createProcessDirectory({ stateDir }),
    open: () =>
      openProcessRuntime({
        stateDir,
        sandbox: config.SHOAL_SANDBOX,
        maxConcurrentBuilds: config.SHOAL_BUILDS_AT_ONCE,
        maxCacheBytes: config.SHOAL_BUILD_CACHE_MB * 1_000_000,
        env: config.environment,
        log: (message) => log.info(message),
      }),
  }
}
