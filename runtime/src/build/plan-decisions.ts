import type { BuildPlan } from './build-image.ts'
import type { BuilderContext } from './build-work.ts'
import { dependencyKey, scriptOf } from './dependency-key.ts'

/** Returns the key of the dependencies in the cache. If they cannot be cached, logs the reason and returns null. */
export async function cacheKeyOf(
  { toolchain }: Pick<BuilderContext, 'toolchain'>,
  plan: BuildPlan,
): Promise<string | null> {
  const { key, reason } = await dependencyKey({
    root: plan.source,
    packageJson: plan.packageJson,
    manager: plan.manager,
    nodeVersion: plan.node.version,
    toolchainVersion: toolchain.version,
    hasInstallCommand: plan.request.installCommand !== null,
  })
  if (key === null) plan.log.info(`Dependencies are installed from scratch for each build, because ${reason}`)
  return key
}

/** Returns the manifest's build command, or else the command of package.json's `build` script; null: there is nothing to build. */
export const buildCommandOf = ({ request, packageJson, manager }: BuildPlan): string[] | null =>
  request.buildCommand ?? (scriptOf(packageJson, 'build') === null ? null : [manager.name, 'run', 'build'])
