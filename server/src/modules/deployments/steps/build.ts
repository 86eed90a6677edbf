import type { Image } from '@shoal/runtime'
import { availableParallelism } from 'node:os'
import { hours, minutes } from '../../../clock.ts'
import { lockImage, recordImage } from '../images-store.ts'
import { parseManifest, parsePlan } from '../../manifest/index.ts'
import { DeployFailure } from '../failure.ts'
import { checkDiskForBuild } from '../requirements.ts'
import type { Step, StepContext } from '../step.ts'
import { addNotes, updateClaimed } from '../claim-store.ts'
import { treeKey, unpackUpload } from './unpack.ts'

/** The time for storing the image, in addition to the limit of the build. */
const storeMarginMs = minutes(5)
/** The time that a build may wait for others. When it starts, `restartDeadline` sets the limit of the build itself. */
const maxQueueMs = hours(2)

/** Installs the dependencies and builds the image. The builder limits the number of concurrent builds. */
export const build: Step = {
  status: 'IMAGE_BUILDING',
  activity: 'Building the image',
  deadlineMs: () => maxQueueMs,
  run: async (context) => {
    const { app, journal, deployment } = context
    await checkDiskForBuild(app.config)
    // The tree may be lost: the worker that unpacked it may have run on another host.
    if (context.isResumed) await unpackUpload(context)
    const { build: request } = parsePlan(parseManifest(deployment.notes.manifestRaw ?? ''))
    const timeMs = minutes(app.config.SHOAL_BUILD_MINUTES)
    try {
      const image = await app.builder.build({
        key: treeKey(deployment.id),
        tenant: String(context.org.id),
        ...request,
        limits: {
          memoryBytes: app.config.SHOAL_BUILD_MEMORY_MB * 2 ** 20,
          cpuCores: availableParallelism(),
          timeMs,
          diskBytes: app.config.SHOAL_BUILD_DISK_MB * 2 ** 20,
        },
        log: journal.output,
        onStart: () => context.restartDeadline(timeMs + storeMarginMs),
        signal: context.signal,
      })
      await recordBuiltImage(context, image)
    } catch (error) {
      // If the build was canceled, throws the reason of the cancellation instead.
      context.signal.throwIfAborted()
      throw error
    }
  },
}

/** Records the image of the build. @throws Error when the image was removed in the meantime: the step is then run again */
async function recordBuiltImage(context: StepContext, { image, bytes }: Image): Promise<void> {
  const { app, deployment, org } = context
  const now = app.clock.now()
  context.deployment = await context.inClaimedTransaction(async (tx) => {
    await lockImage(tx, image)
    if (!(await app.builder.listImages()).some((stored) => stored.image === image))
      throw new Error(`Image ${image} was removed in the meantime`)
    await recordImage(tx, { image, orgId: org.id, bytes, builtAt: now })
    await updateClaimed(tx, deployment, { image })
    return await addNotes(tx, deployment, { imageBytes: bytes }, now)
  })
}

/** Returns the image of a version that is deployed without a build. @throws DeployFailure when it has none */
export function requireImage(image: string | null): string {
  if (image === null) throw new DeployFailure('REQUIREMENTS', 'This version has no image. Please deploy it again.')
  return image
}
