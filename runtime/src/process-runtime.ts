import { join } from 'node:path'
import { createBuilder } from './build/create-builder.ts'
import { npmTargets, readNpmConfig } from './build/npm-config.ts'
import { ensureToolchain } from './build/toolchain.ts'
import type { Builder } from './builder.ts'
import type { Runtime } from './driver.ts'
import { prepareHost } from './process/host.ts'
import type { NetworkMode } from './process/network/find-network.ts'
import type { NetworkTargets } from './process/network/network.ts'
import { createProcessRuntime } from './process/process-driver.ts'
import type { EnvironmentSealer } from './process/workload-file.ts'

export type ProcessRuntimeOptions = {
  /** Must be traversable by every uid (`traversableDir`). */
  stateDir: string
  /** `auto`: bubblewrap when it works here. */
  sandbox: 'auto' | 'none'
  network: NetworkMode
  /** Addresses that programs may reach in addition to DNS, the public internet and, for builds, the npm registry. */
  targets: NetworkTargets
  /** Encrypts the environments of containers before they are stored in files. */
  sealer: EnvironmentSealer
  /** Disk space of each container; 0: not limited. */
  containerDiskBytes: number
  maxConcurrentBuilds: number
  maxCacheBytes: number
  /** Environment of the host's npm, which provides the registry configuration and installs the toolchain. Not visible to builds. */
  env: Record<string, string>
  log: (message: string) => void
}

/**
 * Opens a worker's runtime and builder on this host. The first call downloads the toolchain of squids.
 * @throws Error when the toolchain cannot be installed
 */
export async function openProcessRuntime(
  options: ProcessRuntimeOptions,
): Promise<{ runtime: Runtime; builder: Builder }> {
  const { stateDir, sandbox, network, containerDiskBytes, env, log } = options
  const imagesDir = join(stateDir, 'images')
  const npm = { command: ['npm'], env }
  const npmConfig = await readNpmConfig(npm)
  const targets = { ...options.targets, build: [...options.targets.build, ...npmTargets(npmConfig)] }
  const host = await prepareHost({ stateDir, sandbox, network, targets, containerDiskBytes })
  log(`Squids run with: ${host.summary}`)
  const toolchain = await ensureToolchain({ dir: join(stateDir, 'toolchain'), npm, log })
  const builder = await createBuilder({
    dir: join(stateDir, 'builds'),
    imagesDir,
    host,
    toolchain,
    npmConfig,
    concurrency: options.maxConcurrentBuilds,
    maxCacheBytes: options.maxCacheBytes,
    removeAfterMs: 10_000,
  })
  return { runtime: createProcessRuntime({ stateDir, imagesDir, host, sealer: options.sealer }), builder }
}
