import { BuildFailure, type BuildRequest, type Image, type Unpacked } from '../builder.ts'
import { join } from 'node:path'
import { type BuildLog, megabytes, seconds } from './build-log.ts'
import type { BuilderContext } from './build-work.ts'
import { outOfDisk } from './build-failures.ts'
import { readTextFile } from './manifest-file.ts'
import type { PackageManager } from './package-manager.ts'
import type { InstalledNode, InstalledTool } from './toolchain.ts'

/** The request of a build and the decisions made before its programs run. */
export type BuildPlan = {
  /** The name of the image: a hash of everything that it is built from. */
  image: string
  request: BuildRequest
  /** The unpacked source. */
  source: string
  unpacked: Unpacked
  packageJson: Record<string, unknown>
  manager: PackageManager
  node: InstalledNode
  /** Null: the npm of the toolchain. */
  managerTool: InstalledTool | null
  log: BuildLog
}

/** Runs the build and stores its image. Leaves no processes and no temporary files, even when it fails. */
export async function buildImage(context: BuilderContext, plan: BuildPlan): Promise<Image> {
  const startedAt = performance.now()
  const work = await context.backend.open(context, plan)
  try {
    const { app, bytes, dependencyKey } = await work.run()
    const { node, manager, unpacked, image, log } = plan
    await context.images.store(image, app, {
      nodeBinDir: node.binDir,
      toolchainBinDir: context.toolchain.binDir,
      managerBinDir: plan.managerTool?.binDir ?? null,
      sdk: await sdkOf(app, plan.packageJson),
      nodeVersion: node.version,
      packageManager: [manager.name, manager.tool?.version ?? ''].join(' ').trim(),
      digest: unpacked.digest,
      dependencyKey,
      createdAt: new Date().toISOString(),
      bytes,
    })
    log.info(`Image ready: ${megabytes(bytes)}, after ${seconds(performance.now() - startedAt)}`)
    return { image, bytes, reused: false }
  } catch (error) {
    const isExplained = error instanceof BuildFailure || plan.request.signal.aborted
    throw isExplained || !(await work.isDiskFull()) ? error : outOfDisk('The build', plan.request.limits)
  } finally {
    await work.close()
  }
}

/** Returns the SDK package of the squid's processor, such as `@subsquid/evm-processor@1.27.3`; null if unknown. */
async function sdkOf(app: string, packageJson: Record<string, unknown>): Promise<string | null> {
  const { dependencies } = packageJson
  const names = typeof dependencies === 'object' && dependencies !== null ? Object.keys(dependencies) : []
  const name = names.find((candidate) => /^@subsquid\/(.+-processor|.+-stream|batch-processor)$/.test(candidate))
  const text = name === undefined ? null : await readTextFile(app, join('node_modules', name, 'package.json'))
  const version = text === null ? null : /"version":\s*"([^"]+)"/.exec(text)?.[1]
  return version ? `${name}@${version}` : null
}
