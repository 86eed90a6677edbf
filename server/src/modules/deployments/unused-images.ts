import type { WorkerApp } from '../../app.ts'
import type { Job } from '../../jobs/jobs.ts'
import { hours, systemClock } from '../../clock.ts'
import { deleteImage, isImageRecorded, lockImage, orgsWithUnusedImages, unusedImagesOf } from './images-store.ts'
import { lockOrg } from '../orgs/index.ts'
import { hasUnfinishedDeployment } from './store.ts'
import { removeUnusedArchives } from './uploads.ts'

/** Jobs that remove unused archives and images from disk every hour. */
export const removalJobs = (app: WorkerApp): Job<never>[] => [
  { name: 'deployments.collect-uploads', schedule: '7 * * * *', run: () => removeUnusedArchives(app) },
  { name: 'deployments.collect-images', schedule: '17 * * * *', run: () => removeUnusedImages(app) },
]

/** A stored image that has no row after this time was left by a worker that died before it recorded the image. */
const orphanAfterMs = hours(24)

/**
 * Removes images that no version runs or keeps, and those without a row. Rows are deleted before files: if a worker is killed in
 * between, a later round removes the files without a row.
 */
export async function removeUnusedImages(app: WorkerApp): Promise<void> {
  const unused: string[] = []
  for (const orgId of await orgsWithUnusedImages(app.db)) unused.push(...(await deleteUnusedRows(app, orgId)))
  const oldMs = systemClock.now().getTime() - orphanAfterMs
  const stored = (await app.builder.listImages()).filter(({ storedAtMs }) => storedAtMs < oldMs)
  for (const image of new Set([...unused, ...stored.map((entry) => entry.image)]))
    await removeUnlessRecorded(app, image)
}

/**
 * Deletes the rows of an organization's unused images and returns the images. Skips the organization if a deployment is in progress,
 * and locks it so that none can start in the meantime, because a build could be about to reuse one of the images.
 */
async function deleteUnusedRows(app: WorkerApp, orgId: number): Promise<string[]> {
  return await app.db.transaction(async (tx) => {
    await lockOrg(tx, orgId)
    if (await hasUnfinishedDeployment(tx, orgId)) return []
    const images = await unusedImagesOf(tx, orgId)
    for (const image of images) await deleteImage(tx, image)
    return images
  })
}

/** Removes the files of an image, unless a build has recorded the image again. */
async function removeUnlessRecorded(app: WorkerApp, image: string): Promise<void> {
  await app.db.transaction(async (tx) => {
    await lockImage(tx, image)
    if (!(await isImageRecorded(tx, image))) await app.builder.removeImage(image)
  })
}
