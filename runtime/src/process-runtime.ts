import { join } from 'node:path'
import { createBuilder } from './build/create-builder.ts'
import { readNpmConfig } from './build/npm-config.ts'
import { ensureToolchain } from './build/toolchain.ts'
import type { Builder } from './builder.ts'
import type { Runtime } from './driver.ts'
import { prepareHost } from './process/host.ts'
import { createProcessRuntime } from './process/process-driver.ts'

export type ProcessRuntimeOptions = {
  /** Every uid must be able to walk to it (`traversableDir`). */
  stateDir: string
  /** `auto`: bubblewrap when it works here. */
  sandbox: 'auto' | 'none'
  maxConcurrentBuilds: number
  maxCacheBytes: number
  /** Of the server, for the host's npm: it is asked for its registry, and installs the toolchain. Builds never see it. */
  env: Record<string, string>
  log: (message: string) => void
}

/**
 * What a worker needs on this host: runtime and builder, with the Node and the commands that squids need. The first call
 * downloads those.
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
