import { join } from 'node:path'
import { createBuilder } from './build/create-builder.ts'
import { readNpmConfig } from './build/npm-config.ts'
import { ensureToolchain } from './build/toolchain.ts'
import type { Builder } from './builder.ts'
import type { Runtime } from './driver.ts'
import { prepareHost } from './process/host.ts'
import { createProcessRuntime } from './process/process-driver.ts'

export type ProcessRuntimeOptions = {
  /** Must be traversable for every uid (`traversableDir`). */
  stateDir: string
  /** `auto`: bubblewrap when it works here. */
  sandbox: 'auto' | 'none'
  maxConcurrentBuilds: number
  maxCacheBytes: number
  /** Environment of the host's npm, which provides the registry configuration and installs the toolchain. Not visible to builds. */
  env: Record<string, string>
  log: (message: string) => void
}

/**
 * Opens a worker's runtime and builder on this host, with the toolchain of squids, which the first call downloads.
 * @throws Error when they cannot be installed
 */
export async function openProcessRuntime(
  options: ProcessRuntimeOptions,
): Promise<{ runtime: Runtime; builder: Builder }> {
  const { stateDir, sandbox, env, log } = options
  const imagesDir = join(stateDir, 'images')
  const npm = { command: ['npm'], env }
  const host = await prepareHost({ stateDir, sandbox })
  log(`Squids run with: ${host.summary}`)
  const [toolchain, npmConfig] = await Promise.all([
    ensureToolchain({ dir: join(stateDir, 'toolchain'), npm, log }),
    readNpmConfig(npm),
  ])
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
  return { runtime: createProcessRuntime({ stateDir, imagesDir, sandbox }), builder }
}
