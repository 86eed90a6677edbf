import { listKeptImages } from './images-store.ts'
import { parseManifest, parsePlan, type SquidPlan } from '../manifest/index.ts'
import type { SquidRow } from '../versions/index.ts'
import type { Manifest } from '@subsquid/manifest'
import { DeployFailure } from './failure.ts'
import { sanitizeForJsonb } from './storable.ts'
import type { StepContext } from './step.ts'

/** The code that a deployment runs: from its own archive, from a kept image, or from the current version. */
export type Source = {
  manifestRaw: string
  manifest: Manifest
  plan: SquidPlan
  packageJson: Record<string, unknown>
  image: string | null
  /** 0 if the deployment runs the version's current image. */
  imageBytes: number
}

/** Returns the code to run. @throws DeployFailure when the image is no longer kept; InvalidManifest */
export async function sourceOf(context: StepContext, squid: SquidRow): Promise<Source> {
  const { manifestRaw, packageJson, image, imageBytes } = await findSource(context, squid)
  const manifest = parseManifest(manifestRaw)
  return { manifestRaw, packageJson, image, imageBytes, manifest, plan: parsePlan(manifest) }
}

type SourceContents = Pick<Source, 'manifestRaw' | 'packageJson' | 'image' | 'imageBytes'>

async function findSource({ app, deployment }: StepContext, squid: SquidRow): Promise<SourceContents> {
  const { type, notes } = deployment
  if (type === 'DEPLOY' || type === 'DEPLOY_HARD_RESET')
    return {
      manifestRaw: notes.manifestRaw ?? '',
      packageJson: notes.packageJson ?? {},
      image: deployment.image,
      imageBytes: notes.imageBytes ?? 0,
    }
  if (type === 'ROLLBACK') {
    const keptImage = (await listKeptImages(app.db, squid.id)).find(
      (image) => image.deploymentId === deployment.sourceDeploymentId,
    )
    if (!keptImage)
      throw new DeployFailure(
        'REQUIREMENTS',
        `The image of deployment ${deployment.sourceDeploymentId} is no longer kept.`,
      )
    return {
      manifestRaw: keptImage.manifestRaw,
      packageJson: keptImage.packageJson,
      image: keptImage.image,
      imageBytes: keptImage.bytes,
    }
  }
  return { manifestRaw: squid.manifestRaw, packageJson: squid.packageJson, image: squid.image, imageBytes: 0 }
}

/** Returns the manifest for display, with all defaults and with unevaluated expressions. */
export const displayManifest = (source: Source, squidName: string): Record<string, unknown> =>
  sanitizeForJsonb({ ...source.manifest.toObject(), name: squidName })
