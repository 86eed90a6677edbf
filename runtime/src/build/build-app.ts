import { execFile } from 'node:child_process'
import { mkdir, rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { errorCode } from '../error-code.ts'
import { PLAIN_ENV } from '../process/sandbox.ts'
import type { CachedDependencies } from './build-cache.ts'
import type { BuildPlan } from './build-image.ts'
import { type BuildRun, runBuildStep, sealResult } from './build-step.ts'
import type { BuildWorkspace, WorkDirs, BuilderContext } from './build-work.ts'
import {
  install,
  cloneWritable,
  createProductionTree,
  pruneInPlace,
  sealInstalled,
  cloneReadOnly,
} from './dependencies.ts'
import { isMountFailure, mountModules } from './module-overlay.ts'
import { commandsOf, managerEnvironment } from './manager-commands.ts'
import { buildCommandOf, cacheKeyOf } from './plan-decisions.ts'

/**
 * A sealed app (read-only and owned by the server) with its production dependencies, on the same disk as the images. `bytes`: its size.
 * `dependencyKey`: equal for builds of the tenant with the same dependencies; null if the dependencies cannot be cached.
 */
export type BuiltApp = { app: string; bytes: number; dependencyKey: string | null }

type SealedApp = Omit<BuiltApp, 'dependencyKey'>

/** Builds the app with its production dependencies and seals it. */
export async function buildApp(context: BuilderContext, plan: BuildPlan, work: BuildWorkspace): Promise<BuiltApp> {
  const key = await cacheKeyOf(context, plan)
  if (key === null) {
    return { ...(await buildInPlace(context, plan, work)), dependencyKey: null }
  }
  return await context.cache.withDependencies(plan.request.tenant, key, async (cached) => {
    const app =
      cached === null
        ? await buildAndCache(context, plan, work, key)
        : await buildWithCached(context, plan, work, cached)
    return { ...app, dependencyKey: key }
  })
}

/** Installs, builds and prunes in the app's folder, without cached dependencies. */
async function buildInPlace(
  context: BuilderContext,
  plan: BuildPlan,
  { run, dirs }: BuildWorkspace,
): Promise<SealedApp> {
  const { installCommand } = plan.request
  await withDownloads(context, plan, { run, dirs }, async (installDirs) => {
    await install(run, installDirs, installCommand)
    await runBuildScript(plan, { run, dirs })
    if (installCommand === null) {
      await pruneInPlace(run, installDirs)
    } else {
      plan.log.info('Dependencies are kept as the manifest’s install command left them')
    }
  })
  const bytes = await sealResult(run, dirs.app)
  return { app: await moveToResults(run, dirs, dirs.app), bytes }
}

async function buildWithCached(
  context: BuilderContext,
  plan: BuildPlan,
  work: BuildWorkspace,
  cached: CachedDependencies,
): Promise<SealedApp> {
  const { run, dirs } = work
  plan.log.info('Dependencies unchanged: installed nothing')
  const unmount = await mountModules(run, dirs, cached.full)
  if (unmount === null) {
    await cloneWritable(run, cached.full, join(dirs.app, 'node_modules'))
  }
  const [cloned, built] = await Promise.allSettled([
    cloneReadOnly(run, cached.production, imageModulesDir(dirs)),
    unmount === null ? runBuildScript(plan, work) : runMounted(plan, work, cached.full, unmount),
  ])
  throwFirstRejection(built, cloned)
  return await finishApp(work, cached.productionBytes)
}

/**
 * Runs the build script while the sealed tree `full` is mounted as `node_modules`. If the script fails because of the mount, runs it
 * again with a clone.
 */
async function runMounted(
  plan: BuildPlan,
  work: BuildWorkspace,
  full: string,
  unmount: () => Promise<void>,
): Promise<void> {
  const { run, dirs } = work
  try {
    await runBuildScript(plan, work)
    return await unmount()
  } catch (error) {
    if (!isMountFailure(error)) {
      throw error
    }
  }
  plan.log.info('The build moves or removes node_modules, which was mounted from the cache: building again with a copy')
  await unmount()
  await run.trees.remove(dirs.app)
  await run.trees.clone(dirs.source, dirs.app, { uid: run.uid, hardLinks: 'none' })
  await cloneWritable(run, full, join(dirs.app, 'node_modules'))
  await runBuildScript(plan, work)
}

/** Installs, and creates the production tree while the build script runs. Installed dependencies are cached even if the build fails. */
async function buildAndCache(
  context: BuilderContext,
  plan: BuildPlan,
  work: BuildWorkspace,
  key: string,
): Promise<SealedApp> {
  const { run, dirs } = work
  const dependenciesDir = join(dirs.dir, 'dependencies')
  const full = join(dependenciesDir, 'full')
  await mkdir(dependenciesDir, { mode: 0o711 })
  return await withDownloads(context, plan, work, async (installDirs) => {
    await install(run, installDirs, null)
    await sealInstalled(run, installDirs, full)
    const [production, built] = await Promise.allSettled([
      createProductionTree(run, installDirs, full, join(dependenciesDir, 'production')).then(
        async (productionBytes) => {
          const results = await moveToResults(run, dirs, dependenciesDir)
          await cloneReadOnly(run, join(results, 'production'), imageModulesDir(dirs))
          await context.cache.storeDependencies(plan.request.tenant, key, results, productionBytes)
          return productionBytes
        },
      ),
      runBuildScript(plan, work),
    ])
    throwFirstRejection(built, production)
    return await finishApp(work, production.status === 'fulfilled' ? production.value : 0)
  })
}

/** Returns the folder of the production tree, which becomes the image's `node_modules`. */
const imageModulesDir = (dirs: WorkDirs) => join(dirs.results, 'image-modules')

/** Seals the app with the production tree in place of the build's `node_modules`, and moves it to the results. */
async function finishApp({ run, dirs }: BuildWorkspace, productionBytes: number): Promise<SealedApp> {
  await moveAway(join(dirs.app, 'node_modules'), join(dirs.dir, 'build-modules'))
  const bytes = await sealResult(run, dirs.app)
  const app = await moveToResults(run, dirs, dirs.app)
  await rename(imageModulesDir(dirs), join(app, 'node_modules'))
  return { app, bytes: productionBytes + bytes }
}

/** Moves `path` to `to`, a path in the build's folder, where it is deleted with the build. Ignores a missing path. */
async function moveAway(path: string, to: string): Promise<void> {
  try {
    await rename(path, to)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') {
      throw error
    }
  }
}

/** Moves a sealed tree from the build's disk to that of the images, keeping its hard links. Resolves with its new path. */
async function moveToResults(run: BuildRun, dirs: WorkDirs, tree: string): Promise<string> {
  const target = join(dirs.results, basename(tree))
  if (run.disk.kind === 'none') {
    await rename(tree, target)
  } else {
    await promisify(execFile)('cp', ['-a', '--', tree, target], { env: PLAIN_ENV })
  }
  return target
}

function throwFirstRejection(...results: PromiseSettledResult<unknown>[]): void {
  for (const result of results) {
    if (result.status === 'rejected') {
      throw result.reason
    }
  }
}

/** Runs the manifest's build command, or else the `build` script of package.json, if any. */
async function runBuildScript(plan: BuildPlan, { run, dirs }: BuildWorkspace): Promise<void> {
  const command = buildCommandOf(plan)
  if (command === null) {
    plan.log.info('package.json has no build script: nothing to build')
    return
  }
  await runBuildStep(run, {
    step: 'build',
    command,
    cwd: dirs.app,
    env: {
      // A separate folder: the squid's code must not write to the download cache that other builds of the tenant use.
      ...managerEnvironment(join(dirs.dir, 'tmp/downloads')),
      PATH: `${join(dirs.app, 'node_modules/.bin')}:${run.env.PATH ?? ''}`,
    },
    writableDirs: [dirs.app],
  })
}

/**
 * Calls `work` with the tenant's download cache as `downloads` if the package manager verifies what it reads from there; otherwise with
 * the empty folder of this build.
 */
async function withDownloads<T>(
  { cache }: BuilderContext,
  { request, manager }: BuildPlan,
  { run, dirs }: BuildWorkspace,
  work: (installDirs: WorkDirs) => Promise<T>,
): Promise<T> {
  if (!commandsOf(manager).verifiesDownloads) {
    return await work(dirs)
  }
  return await cache.withDownloads(request.tenant, run, async (downloads) => await work({ ...dirs, downloads }))
}
