import { join } from 'node:path'
import type { BuildBackend } from './build/build-backend.ts'
import { createBuilder } from './build/create-builder.ts'
import { hostBackend } from './build/host-backend.ts'
import { type NpmConfig, npmTargets, readNpmConfig } from './build/npm-config.ts'
import { type Toolchain, ensureToolchain } from './build/toolchain.ts'
import type { Builder } from './builder.ts'
import { type ImageRegistry, type RegistrySettings, openImageRegistry } from './images/image-registry.ts'
import { createRegistryBuilder } from './images/registry-builder.ts'
import { type Host, prepareHost } from './process/host.ts'
import { recordHostReport } from './process/host-report.ts'
import type { NetworkMode } from './process/network/find-network.ts'
import type { NetworkTargets } from './process/network/network.ts'

/** Settings of every builder, on this host or in a cluster. */
export type BuilderSettings = {
  /** Must be traversable by every uid (`traversableDir`). */
  stateDir: string
  maxConcurrentBuilds: number
  maxCacheBytes: number
  /** A registry to which images are pushed; null: none. */
  registry: RegistrySettings | null
  /** Environment of the host's npm, which provides the registry configuration and installs the toolchain. Not visible to builds. */
  env: Record<string, string>
  log: (message: string) => void
}

export type HostBuilderOptions = BuilderSettings & {
  /** `auto`: bubblewrap when it works here. */
  sandbox: 'auto' | 'none'
  network: NetworkMode
  /** Addresses that programs may reach in addition to DNS, the public internet and, for builds, the npm registry. */
  targets: NetworkTargets
  /** Disk space of each container; 0: unlimited. */
  containerDiskBytes: number
}

/** A builder on this host. `imagesDir`: the folder of its images. */
export type HostBuilder = { host: Host; imagesDir: string; builder: Builder }

/** What `Image.image` contains: the image's name on this host, or its name in the registry. */
type ImageNames = 'stored' | 'in registry'

/**
 * Prepares this host for builds. The first call downloads the toolchain of squids.
 * @throws Error when the toolchain cannot be installed, or a setting of the registry is invalid
 */
export async function openHostBuilder(options: HostBuilderOptions, names: ImageNames): Promise<HostBuilder> {
  const { stateDir, sandbox, network, containerDiskBytes, log } = options
  const npmConfig = await readNpmConfig({ command: ['npm'], env: options.env })
  const targets = { ...options.targets, build: [...options.targets.build, ...npmTargets(npmConfig)] }
  const host = await prepareHost({ stateDir, sandbox, network, targets, containerDiskBytes })
  log(`Squids run with: ${host.summary}`)
  recordHostReport(host.stateDir, host.report)
  const builder = await openBuilder(options, names, npmConfig, () => hostBackend(host))
  return { host, imagesDir: imagesDirOf(options), builder }
}

/** Returns the folder of the images on this host. */
export const imagesDirOf = ({ stateDir }: Pick<BuilderSettings, 'stateDir'>): string => join(stateDir, 'images')

/**
 * Opens a builder whose programs run in the backend that `backendOf` returns, with the registry if there is one.
 * @throws Error like `openHostBuilder`
 */
export async function openBuilder(
  settings: BuilderSettings,
  names: ImageNames,
  npmConfig: NpmConfig,
  backendOf: (registry: ImageRegistry | null, toolchain: Toolchain) => BuildBackend,
): Promise<Builder> {
  const { stateDir, env, log, maxConcurrentBuilds } = settings
  const imagesDir = imagesDirOf(settings)
  const dir = join(stateDir, 'oci')
  const toolchain = await ensureToolchain({ dir: join(stateDir, 'toolchain'), npm: { command: ['npm'], env }, log })
  const registry = settings.registry && (await openImageRegistry(settings.registry, dir))
  const builder = await createBuilder({
    dir: join(stateDir, 'builds'),
    imagesDir,
    backend: backendOf(registry, toolchain),
    toolchain,
    npmConfig,
    concurrency: maxConcurrentBuilds,
    maxCacheBytes: settings.maxCacheBytes,
    removeAfterMs: 10_000,
  })
  if (registry === null) return builder
  return await createRegistryBuilder({
    registry,
    builder,
    imagesDir,
    dir,
    names,
    concurrency: maxConcurrentBuilds,
    log,
  })
}
