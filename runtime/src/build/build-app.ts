import { mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { KeptDependencies } from './build-cache.ts'
import type { BuildPlan } from './build-image.ts'
import { runStep } from './build-step.ts'
import type { BuildWorkspace, WorkDirs, BuilderContext } from './build-work.ts'
import { install, cloneWritable, makeProduction, pruneInPlace, sealInstalled, cloneReadOnly } from './dependencies.ts'
import { dependencyKey, scriptOf } from './dependency-key.ts'
import { commandsOf, managerEnvironment } from './manager-commands.ts'

/** Builds the sealed app with its production dependencies in `work.dirs.app`; resolves with its bytes. */
export async function buildApp(context: BuilderContext, plan: BuildPlan, work: BuildWorkspace): Promise<number> {
  const { key, reason } = await dependencyKey({
    root: plan.source,
    packageJson: plan.packageJson,
    manager: plan.manager,
    nodeVersion: plan.node.version,
    toolchainVersion: context.toolchain.version,
    hasInstallCommand: plan.request.installCommand !== null,
  })
  if (key === null) {
    plan.log.info(`Dependencies are installed from scratch for each build, because ${reason}`)
    return await buildInPlace(context, plan, work)
  }
  return await context.cache.withDependencies(plan.request.tenant, key, async (kept) =>
    kept === null ? await buildAndKeep(context, plan, work, key) : await buildWith(context, plan, work, kept),
  )
}

/** Installs, builds and prunes in the app's folder, without cached dependencies. */
async function buildInPlace(context: BuilderContext, plan: BuildPlan, { run, dirs }: BuildWorkspace): Promise<number> {
  const { installCommand } = plan.request
  await withDownloads(context, plan, { run, dirs }, async (installing) => {
    await install(run, installing, installCommand)
    await runBuildScript(plan, { run, dirs })
    if (installCommand === null) {
      await pruneInPlace(run, installing)
    } else {
      plan.log.info('Dependencies stay as the manifest’s install command left them')
    }
  })
  return await run.trees.seal(dirs.app, run.uid)
}

async function buildWith(
  context: BuilderContext,
  plan: BuildPlan,
  work: BuildWorkspace,
  kept: KeptDependencies,
): Promise<number> {
  const { run, dirs } = work
  plan.log.info('Dependencies unchanged: installed nothing')
  await cloneWritable(run, kept.full, join(dirs.app, 'node_modules'))
  const [shared, built] = await Promise.allSettled([
    cloneReadOnly(run, kept.production, imageModules(dirs)),
    runBuildScript(plan, work),
  ])
  throwRejected(built, shared)
  return kept.productionBytes + (await finish(context, work))
}

/** Installs, and creates the production tree while the build script runs. Installed dependencies are cached even if the build fails. */
async function buildAndKeep(
  context: BuilderContext,
  plan: BuildPlan,
  work: BuildWorkspace,
  key: string,
): Promise<number> {
  const { run, dirs } = work
  const made = join(dirs.dir, 'dependencies')
  const full = join(made, 'full')
  await mkdir(made, { mode: 0o711 })
  return await withDownloads(context, plan, work, async (installing) => {
    await install(run, installing, null)
    const bytes = await sealInstalled(run, installing, full)
    const [kept, built] = await Promise.allSettled([
      makeProduction(run, installing, full, join(made, 'production')).then(async (productionBytes) => {
        await cloneReadOnly(run, join(made, 'production'), imageModules(dirs))
        await context.cache.keepDependencies(plan.request.tenant, key, made, { bytes, productionBytes })
        return productionBytes
      }),
      runBuildScript(plan, work),
    ])
    throwRejected(built, kept)
    return (kept.status === 'fulfilled' ? kept.value : 0) + (await finish(context, work))
  })
}

/** Location of the production tree until the build has ended. */
const imageModules = (dirs: WorkDirs) => join(dirs.dir, 'image-modules')

/** Replaces the build's `node_modules` by the production tree. Resolves with the bytes of the app without dependencies. */
async function finish({ staging }: BuilderContext, { run, dirs }: BuildWorkspace): Promise<number> {
  const modules = join(dirs.app, 'node_modules')
  await staging.discard(modules)
  const bytes = await run.trees.seal(dirs.app, run.uid)
  await rename(imageModules(dirs), modules)
  return bytes
}

function throwRejected(...results: PromiseSettledResult<unknown>[]): void {
  for (const result of results) {
    if (result.status === 'rejected') {
      throw result.reason
    }
  }
}

/** Runs the manifest's command, or else the `build` script of package.json if there is one (contract 4.1). */
async function runBuildScript(
  { request, packageJson, manager, log }: BuildPlan,
  { run, dirs }: BuildWorkspace,
): Promise<void> {
  const script = scriptOf(packageJson, 'build') === null ? null : [manager.name, 'run', 'build']
  const command = request.buildCommand ?? script
  if (command === null) {
    log.info('package.json has no build script: nothing to build')
    return
  }
  await runStep(run, {
    step: 'build',
    command,
    cwd: dirs.app,
    env: {
      // Own directory: the squid's code must not write to the download cache that other builds of the tenant use.
      ...managerEnvironment(join(dirs.dir, 'tmp/downloads')),
      PATH: `${join(dirs.app, 'node_modules/.bin')}:${run.env.PATH ?? ''}`,
    },
    writableDirs: [dirs.app],
  })
}

async function withDownloads<T>(
  { cache }: BuilderContext,
  { request, manager }: BuildPlan,
  { run, dirs }: BuildWorkspace,
  work: (installing: WorkDirs) => Promise<T>,
): Promise<T> {
  if (!commandsOf(manager).verifiesDownloads) {
    return await work(dirs)
  }
  return await cache.withDownloads(request.tenant, run.uid, async (downloads) => await work({ ...dirs, downloads }))
}
