import type { Builder } from './builder.ts'
import type { Runtime } from './driver.ts'
import { type HostBuilderOptions, imagesDirOf, openHostBuilder } from './host-builder.ts'
import { createProcessRuntime } from './process/process-driver.ts'
import type { EnvironmentSealer } from './process/workload-file.ts'

export type ProcessRuntimeOptions = HostBuilderOptions & {
  /** Encrypts the environments of containers before they are stored in files. */
  sealer: EnvironmentSealer
}

/**
 * Opens a worker's runtime and builder on this host. The first call downloads the toolchain of squids.
 * @throws Error when the toolchain cannot be installed, or a setting of the registry is invalid
 */
export async function openProcessRuntime(
  options: ProcessRuntimeOptions,
): Promise<{ runtime: Runtime; builder: Builder }> {
  const { host, imagesDir, builder } = await openHostBuilder(options, 'stored')
  const { stateDir, sealer } = options
  return { runtime: createProcessRuntime({ stateDir, imagesDir, host, sealer }), builder }
}

/** Creates the runtime of `openProcessRuntime` for a program that only ends containers: without a builder, which needs npm and the toolchain of squids. */
export function createRuntimeWithoutBuilder(options: ProcessRuntimeOptions): Runtime {
  const { stateDir, sandbox, network, targets, containerDiskBytes, sealer } = options
  const imagesDir = imagesDirOf(options)
  return createProcessRuntime({ stateDir, sandbox, network, targets, containerDiskBytes, imagesDir, sealer })
}
