import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { KeptDependencies } from './build-cache.ts'
import type { Plan } from './build-image.ts'
import { runStep } from './build-step.ts'
import type { Work, WorkDirs, Workshop } from './build-work.ts'
import { install, lend, makeProduction, pruneInPlace, sealInstalled, share } from './dependencies.ts'
import { dependencyKey, scriptOf } from './dependency-key.ts'
import { commandsOf, managerEnvironment } from './manager-commands.ts'
import { sealTree } from './seal-tree.ts'

/** Leaves in `work.dirs.app` the sealed app with its production dependencies; answers the bytes in it. */
export async function buildApp(workshop: Workshop, plan: Plan, work: Work): Promise<number> {
  const { key, reason } = await dependencyKey({
    root: plan.source,
    packageJson: plan.packageJson,
    manager: plan.manager,
    nodeVersion: plan.node.version,
    toolchainVersion: workshop.toolchain.version,
    hasInstallCommand: plan.request.installCommand !== null,
  })
  if (key === null) {
    plan.log.say(`Dependencies are installed anew for each build, because ${reason}`)
    return await buildInPlace(workshop, plan, work)
  }
  return await workshop.cache.withDependencies(plan.request.tenant, key, async (kept) =>
    kept === null ? await buildAndKeep(workshop, plan, work, key) : await buildWith(workshop, plan, work, kept),
  )
}

/** Everything happens in the app's own folder. */
async function buildInPlace(workshop: Workshop, plan: Plan, { run, dirs }: Work): Promise<number> {
  const { installCommand } = plan.request
  await withDownloads(workshop, plan, { run, dirs }, async (installing) => {
    await install(run, installing, installCommand)
    await runBuildScript(plan, { run, dirs })
    if (installCommand === null) {
      await pruneInPlace(run, installing)
    } else {
      plan.log.say('Dependencies stay as the manifest’s install command left them')
    }
  })
  return await sealTree(dirs.app, run.uid)
}

async function buildWith(workshop: Workshop, plan: Plan, work: Work, kept: KeptDependencies): Promise<number> {
  plan.log.say('Dependencies unchanged: installed nothing')
  await lend(kept.full, join(work.dirs.app, 'node_modules'), work.run.uid)
  await runBuildScript(plan, work)
  return await finish(workshop, work, kept)
}

/** Installs, and makes the production tree while the build script runs. What was installed serves the next try, too. */
async function buildAndKeep(workshop: Workshop, plan: Plan, work: Work, key: string): Promise<number> {
  const { run, dirs } = work
  const made = join(dirs.dir, 'dependencies')
  const fresh = { full: join(made, 'full'), production: join(made, 'production'), productionBytes: 0, bytes: 0 }
  await mkdir(made, { mode: 0o711 })
  const [production, built] = await withDownloads(workshop, plan, work, async (installing) => {
    await install(run, installing, null)
    fresh.bytes = await sealInstalled(run, installing, fresh.full)
    return await Promise.allSettled([
      makeProduction(run, installing, fresh.full, fresh.production),
      runBuildScript(plan, work),
    ])
  })
  if (production.status === 'rejected') {
    throw built.status === 'rejected' ? built.reason : production.reason
  }
  fresh.productionBytes = production.value
  try {
    if (built.status === 'rejected') {
      throw built.reason
    }
    return await finish(workshop, work, fresh)
  } finally {
    await workshop.cache.keepDependencies(plan.request.tenant, key, made, fresh)
  }
}

/** The build's own `node_modules` goes, the production tree comes. */
async function finish({ staging }: Workshop, { run, dirs }: Work, kept: KeptDependencies): Promise<number> {
  const modules = join(dirs.app, 'node_modules')
  await staging.discard(modules)
  const appBytes = await sealTree(dirs.app, run.uid)
  await share(kept.production, modules, run.uid)
  return appBytes + kept.productionBytes
}

/** The manifest's command, else the `build` script of package.json, else nothing (contract 4.1). */
async function runBuildScript({ request, packageJson, manager, log }: Plan, { run, dirs }: Work): Promise<void> {
  const script = scriptOf(packageJson, 'build') === null ? null : [manager.name, 'run', 'build']
  const command = request.buildCommand ?? script
  if (command === null) {
    log.say('package.json has no build script: nothing to build')
    return
  }
  await runStep(run, {
    step: 'build',
    command,
    cwd: dirs.app,
    env: {
      // What other builds of the tenant will install from is not for the squid's own code.
      ...managerEnvironment(join(dirs.dir, 'tmp/downloads')),
      PATH: `${join(dirs.app, 'node_modules/.bin')}:${run.env.PATH ?? ''}`,
    },
    writableDirs: [dirs.app],
  })
}

async function withDownloads<T>(
  { cache }: Workshop,
  { request, manager }: Plan,
  { run, dirs }: Work,
  work: (installing: WorkDirs) => Promise<T>,
): Promise<T> {
  if (!commandsOf(manager).verifiesDownloads) {
    return await work(dirs)
  }
  return await cache.withDownloads(request.tenant, run.uid, async (downloads) => await work({ ...dirs, downloads }))
}
