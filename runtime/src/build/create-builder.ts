import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { type BuildRequest, type Builder, BuildFailure, type Image } from '../builder.ts'
import { openBuildCache } from './build-cache.ts'
import { type BuildPlan, buildImage } from './build-image.ts'
import { explainBuilderError } from './build-failures.ts'
import { BuildLog } from './build-log.ts'
import type { BuildBackend } from './build-backend.ts'
import type { BuilderContext } from './build-work.ts'
import { openImageStore } from './image-store.ts'
import type { NpmConfig } from './npm-config.ts'
import { choosePackageManager } from './package-manager.ts'
import { type SourceTrees, openSourceTrees } from './source-trees.ts'
import { openStaging } from './staging.ts'
import type { InstalledNode, Toolchain } from './toolchain.ts'
import { NODE_VERSIONS } from './tools.ts'
import { TreeTasks } from './tree-tasks.ts'
import { KeyedMutex } from '../concurrency.ts'
import { FairSlots } from '../fair-slots.ts'

export type BuilderOptions = {
  /** Source trees, caches and temporary files. Must be traversable by every uid. */
  dir: string
  /** Must be on the same file system as `dir`. */
  imagesDir: string
  backend: BuildBackend
  toolchain: Toolchain
  npmConfig: NpmConfig
  /** Maximum number of concurrent builds. Further builds wait; the next is one of the tenant with the fewest running builds. */
  concurrency: number
  /** Maximum size of the build cache, without images, which `removeImage` deletes. */
  maxCacheBytes: number
  /** Delay before temporary files are deleted: the squid starts right after its build, and deletions would take CPU and disk from it. */
  removeAfterMs: number
}

/** Part of each image's name. Increase it when a change of the builder results in a different image of the same source. */
const FORMAT = 1

/** Creates a builder whose programs run in `backend`. Call `recover` once before the first build. */
export async function createBuilder(options: BuilderOptions): Promise<Builder> {
  const { dir, imagesDir, backend, toolchain, npmConfig, concurrency, maxCacheBytes, removeAfterMs } = options
  const staging = await openStaging(join(dir, 'staging'), removeAfterMs)
  const trees = await openSourceTrees(join(dir, 'trees'), staging)
  const treeTasks = new TreeTasks()
  const cache = await openBuildCache(join(dir, 'cache'), staging, treeTasks, maxCacheBytes)
  const images = await openImageStore(imagesDir, staging)
  const context: BuilderContext = { backend, staging, cache, images, toolchain, npmConfig, trees: treeTasks }
  const slots = new FairSlots<string>(concurrency, null)
  const mutex = new KeyedMutex()

  async function buildOnce(plan: BuildPlan): Promise<Image> {
    const { image, log, request } = plan
    const existing = await images.find(image)
    if (existing !== null) {
      log.info('This source was built before: its image is reused')
      return { image, bytes: existing.bytes, reused: true }
    }
    if (slots.isFull) {
      log.info('Waiting for other builds to finish')
    }
    try {
      return await slots.run(request.tenant, () => buildImage(context, plan), request.signal)
    } finally {
      await cache.evictExcess()
    }
  }

  return {
    unpack: (request) => withExplainedErrors(trees.unpack(request)),
    async build(request) {
      const plan = await makePlan(request, trees, toolchain)
      // Serializes builds of the same image, so that the second one reuses it.
      return await withExplainedErrors(mutex.run(plan.image, () => buildOnce(plan), request.signal))
    },
    listImages: () => images.list(),
    removeImage: (image) => images.remove(image),
    removeTree: (key) => trees.remove(key),
    async recover() {
      for (const owner of await staging.deadOwners()) {
        await backend.recover(owner)
        await staging.discardAllOf(owner)
      }
    },
  }
}

async function withExplainedErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw explainBuilderError(error)
  }
}

/** Chooses the package manager, the version of Node and the image's name, before any program runs. @throws BuildFailure */
async function makePlan(request: BuildRequest, trees: SourceTrees, toolchain: Toolchain): Promise<BuildPlan> {
  const { tenant, installCommand, buildCommand, packageManager } = request
  const { root, unpacked } = await trees.find(request.key)
  const { packageJson } = unpacked
  if (packageJson === null) {
    throw new BuildFailure(
      'REQUIRED_SOURCE_FILE_MISSED',
      'There is no package.json in the archive. Deploy the folder that contains it, and check that .squidignore does not exclude it.',
    )
  }
  const log = new BuildLog(request.log)
  const manager = await choosePackageManager(root, packageJson, {
    packageManager,
    hasInstallCommand: installCommand !== null,
  })
  manager.notes.forEach((note) => log.info(note))
  const node = await findNode(request, toolchain)
  const managerTool = manager.tool === null ? null : await toolchain.install(manager.tool)
  const parts = [
    FORMAT,
    tenant,
    unpacked.digest,
    node.version,
    toolchain.version,
    manager.kind,
    manager.tool?.version ?? null,
    installCommand,
    buildCommand,
  ]
  const image = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 40)
  return { image, request, source: root, unpacked, packageJson, manager, node, managerTool, log }
}

async function findNode({ nodeVersion }: BuildRequest, toolchain: Toolchain): Promise<InstalledNode> {
  const requested = NODE_VERSIONS.find((version) => version === nodeVersion)
  if (requested === undefined || !toolchain.offers(requested)) {
    const offered = NODE_VERSIONS.filter((version) => toolchain.offers(version)).join(', ')
    throw new BuildFailure(
      'REQUIREMENTS',
      `Node ${nodeVersion} is not available here. Set build.node_version to one of ${offered}.`,
    )
  }
  return await toolchain.node(requested)
}
