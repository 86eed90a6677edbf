import { join } from 'node:path'
import { createBuilder } from './build/create-builder.ts'
import { npmTargets, readNpmConfig } from './build/npm-config.ts'
import { ensureToolchain } from './build/toolchain.ts'
import type { Builder } from './builder.ts'
import { type RegistrySettings, createRegistryBuilder } from './images/registry-builder.ts'
import { type Host, prepareHost } from './process/host.ts'
import { recordHostReport } from './process/host-report.ts'
import type { NetworkMode } from './process/network/find-network.ts'
import type { NetworkTargets } from './process/network/network.ts'

export type HostBuilderOptions = {
  /** Must be traversable by every uid (`traversableDir`). */
  stateDir: string
  /** `auto`: bubblewrap when it works here. */
  sandbox: 'auto' | 'none'
  network: NetworkMode
  /** Addresses that programs may reach in addition to DNS, the public internet and, for builds, the npm registry. */
  targets: NetworkTargets
  /** Disk space of each container; 0: unlimited. */
  containerDiskBytes: number
  maxConcurrentBuilds: number
  maxCacheBytes: number
  /** A registry to which images are pushed; null: none. */
  registry: RegistrySettings | null
  /** Environment of the host's npm, which provides the registry configuration and installs the toolchain. Not visible to builds. */
  env: Record<string, string>
  log: (message: string) => void
}

export type HostBuilder = { host: Host; imagesDir: string; builder: Builder }

/**
 * Prepares this host for builds. The first call downloads the toolchain of squids.
 * @param names which name `Image.image` contains: that of the image stored on this host, or that in the registry
 * @throws Error when the toolchain cannot be installed, or a setting of the registry is invalid
 */
export async function openHostBuilder(
  options: HostBuilderOptions,
  names: 'stored' | 'in registry',
): Promise<HostBuilder> {
  const { stateDir, sandbox, network, containerDiskBytes, registry, env, log } = options
  const imagesDir = join(stateDir, 'images')
  const npm = { command: ['npm'], env }
  const npmConfig = await readNpmConfig(npm)
  const targets = { ...options.targets, build: [...options.targets.build, ...npmTargets(npmConfig)] }
  const host = await prepareHost({ stateDir, sandbox, network, targets, containerDiskBytes })
  log(`Squids run with: ${host.summary}`)
  recordHostReport(host.stateDir, host.report)
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
  if (registry === null) return { host, imagesDir, builder }
  const pushing = {
    ...registry,
    builder,
    imagesDir,
    dir: join(stateDir, 'oci'),
    names,
    concurrency: options.maxConcurrentBuilds,
    log,
  }
  return { host, imagesDir, builder: await createRegistryBuilder(pushing) }
}
