import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { BuiltApp } from '../../build/build-app.ts'
import type { BuildPlan } from '../../build/build-image.ts'
import type { BuildBackend } from '../../build/build-backend.ts'
import type { BuilderContext } from '../../build/build-work.ts'
import { buildCommandOf, cacheKeyOf } from '../../build/plan-decisions.ts'
import { BuildFailure } from '../../builder.ts'
import type { ImageRegistry } from '../../images/image-registry.ts'
import { InterruptedAttempt } from './attempt-watch.ts'
import { type DependencyState, buildActions } from './build-actions.ts'
import { joinModules } from './build-results.ts'
import type { BuildJobs } from './build-jobs.ts'
import { EarlyPush } from './early-push.ts'
import { type AttemptContext, runAttempt } from './job-attempt.ts'

export type JobBackendOptions = {
  /** Connects to the cluster when the first build needs it. @throws BuildFailure */
  connect: () => Promise<BuildJobs>
  registry: ImageRegistry
}

const MAX_ATTEMPTS = 3

/**
 * Runs the programs of builds in Jobs of a cluster. This host unpacks and seals what they send, which is as untrusted as a user's
 * archive.
 */
export const jobBackend = (options: JobBackendOptions): BuildBackend => ({
  async open(context, plan) {
    const { path: results } = await context.staging.make()
    return {
      run: () => buildInJobs(options, context, plan, results),
      isDiskFull: async () => false,
      close: () => context.staging.discard(results),
    }
  },
  // Containers end when the connection to their worker ends.
  recover: async () => undefined,
})

async function buildInJobs(
  { connect, registry }: JobBackendOptions,
  context: BuilderContext,
  plan: BuildPlan,
  results: string,
): Promise<BuiltApp> {
  const { log, request } = plan
  const jobs = await connect()
  const tools = {
    nodeBinDir: plan.node.binDir,
    toolchainBinDir: context.toolchain.binDir,
    managerBinDir: plan.managerTool?.binDir ?? null,
  }
  const image = await registry.toolsImage(tools, request.signal)
  const key = await cacheKeyOf(context, plan)
  const deadline = { at: null }
  for (let attempt = 1; ; attempt++) {
    const dir = join(results, `attempt-${attempt}`)
    await mkdir(dir, { mode: 0o700 })
    try {
      return await buildOnce({ jobs, context, plan, dir, image, deadline }, registry, key)
    } catch (error) {
      if (!(error instanceof InterruptedAttempt)) throw error
      if (attempt === MAX_ATTEMPTS)
        throw new BuildFailure('UNEXPECTED', `${error.message}, ${MAX_ATTEMPTS} times. Deploy again.`)
      log.info(`${error.message}: the build starts again`)
    }
  }
}

async function buildOnce(
  attempt: Omit<AttemptContext, 'actions' | 'cachedModules' | 'onDependencies'>,
  registry: ImageRegistry,
  key: string | null,
): Promise<BuiltApp> {
  const { context, plan, dir } = attempt
  const { tenant } = plan.request
  const run = async (state: DependencyState, more: Pick<AttemptContext, 'cachedModules' | 'onDependencies'>) => {
    if (buildCommandOf(plan) === null) plan.log.info('package.json has no build script: nothing to build')
    return await runAttempt({ ...attempt, actions: await buildActions(plan, context.npmConfig, state), ...more })
  }
  if (key === null) {
    const { dir: app, bytes } = await run('none', { cachedModules: null, onDependencies: async () => undefined })
    return { app, bytes, dependencyKey: null }
  }
  // The cache also has the entries of builds on this host, without an archive.
  const entry = `job-${key}`
  return await context.cache.withDependencies(tenant, entry, async (cached) => {
    const modules = join(dir, 'image-modules')
    let productionBytes = cached?.productionBytes ?? null
    const cloneProduction = (production: string) =>
      context.trees.clone(production, modules, { uid: null, hardLinks: 'all' })
    if (cached !== null) {
      plan.log.info('Dependencies unchanged: installed nothing')
      await cloneProduction(cached.production)
    }
    await using push = new EarlyPush(registry, plan)
    const { dir: app, bytes } = await run(cached === null ? 'missing' : 'cached', {
      cachedModules: cached?.dir ?? null,
      onDependencies: async (sent) => {
        await cloneProduction(join(sent.dir, 'production'))
        await context.cache.storeDependencies(tenant, entry, sent.dir, sent.productionBytes)
        productionBytes = sent.productionBytes
        push.start(modules, key)
      },
    })
    if (productionBytes === null)
      throw new BuildFailure('SOURCE_FILES_BUILD_FAILED', 'The build ended before it sent its result. Deploy again.')
    await push.ended
    await joinModules(app, modules)
    return { app, bytes: bytes + productionBytes, dependencyKey: key }
  })
}
