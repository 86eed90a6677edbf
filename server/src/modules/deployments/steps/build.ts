import type { Image } from '@shoal/runtime'
import { availableParallelism } from 'node:os'
import type { WorkerApp } from '../../../app.ts'
import { hours, minutes } from '../../../clock.ts'
import { lockImage, recordImage } from '../images-store.ts'
import { parseManifest, parsePlan } from '../../manifest/index.ts'
import { DeployFailure } from '../failure.ts'
import type { Step, StepContext } from '../step.ts'
import { addNotes, updateClaimed } from '../store.ts'
import { until } from '../wait.ts'
import { treeKey, unpackUpload } from './unpack.ts'

/** Beyond the builder's own limit, for storing the image. */
const margin = minutes(5)
const queueMs = hours(2)

/** Installs and builds; as many at once as the operator allows. */
export const build: Step = {
  status: 'IMAGE_BUILDING',
  doing: 'Building the image',
  deadlineMs: () => queueMs,
  run: async (context) => {
    const { app, journal, deployment } = context
    const leave = await takePlace(context)
    try {
      await context.restartDeadline(minutes(app.config.SHOAL_BUILD_MINUTES) + margin)
      // The tree may have been lost with the worker that unpacked it.
      if (context.isResumed) await unpackUpload(context)
      const { build: request } = parsePlan(parseManifest(deployment.notes.manifestRaw ?? ''))
      const image = await app.builder.build({
        key: treeKey(deployment.id),
        tenant: String(context.org.id),
        ...request,
        limits: {
          memoryBytes: app.config.SHOAL_BUILD_MEMORY_MB * 2 ** 20,
          cpuCores: availableParallelism(),
          timeMs: minutes(app.config.SHOAL_BUILD_MINUTES),
        },
        log: journal.output,
        signal: context.signal,
      })
      await recordBuiltImage(context, image)
    } catch (error) {
      // The builder ends a build that is told to; why it was told is what counts.
      context.signal.throwIfAborted()
      throw error
    } finally {
      leave()
    }
  },
}

/** @throws Error when the image was removed since it was built or found: the step is run again */
async function recordBuiltImage(context: StepContext, { image, bytes }: Image): Promise<void> {
  const { app, deployment, org } = context
  const now = app.clock.now()
  context.deployment = await context.change(async (tx) => {
    await lockImage(tx, image)
    if (!(await app.builder.listImages()).some((stored) => stored.image === image))
      throw new Error(`Image ${image} was removed meanwhile`)
    await recordImage(tx, { image, orgId: org.id, bytes, builtAt: now })
    await updateClaimed(tx, deployment, { image })
    return await addNotes(tx, deployment, { imageBytes: bytes }, now)
  })
}

const building = new WeakMap<WorkerApp['builder'], number>()

/** Waits for one of the places this worker has for builds. Answers how to leave it. */
async function takePlace({ app, journal, intervals, signal }: StepContext): Promise<() => void> {
  const places = app.config.SHOAL_BUILDS_AT_ONCE
  let isTold = false
  await until(
    async () => {
      const taken = building.get(app.builder) ?? 0
      if (taken < places) {
        building.set(app.builder, taken + 1)
        return 'taken'
      }
      if (!isTold) journal.info('Waiting for other builds to end')
      isTold = true
      return null
    },
    intervals.pollMs,
    signal,
  )
  return () => building.set(app.builder, (building.get(app.builder) ?? 1) - 1)
}

/** An image that a deployment without a build needs. @throws DeployFailure */
export function neededImage(image: string | null): string {
  if (image === null)
    throw new DeployFailure('REQUIREMENTS', 'There is no image of this version. Please deploy it again.')
  return image
}
