import type { WorkerApp } from '../../app.ts'
import type { Job } from '../../jobs/jobs.ts'
import { hours, systemClock } from '../../clock.ts'
import { deleteImage, isImageKnown, lockImage, orgsWithUnusedImages, unusedImagesOf } from './images-store.ts'
import { lockOrg } from '../orgs/index.ts'
import { hasUnfinished } from './store.ts'
import { collectUploads } from './uploads.ts'

/** Removes unused archives and images from disk every hour. */
export const collectionJobs = (app: WorkerApp): Job<never>[] => [
  { name: 'deployments.collect-uploads', schedule: '7 * * * *', run: () => collectUploads(app) },
  { name: 'deployments.collect-images', schedule: '17 * * * *', run: () => collectImages(app) },
]

/** Stored images without a row belong to a worker that died after this time. */
const orphanAfterMs = hours(24)

/**
 * Removes images that no version runs or keeps, and those without a row. Rows are deleted before files: a worker killed in between
 * leaves files without a row, which the next round removes.
 */
export async function collectImages(app: WorkerApp): Promise<void> {
  const unused: string[] = []
  for (const orgId of await orgsWithUnusedImages(app.db)) unused.push(...(await collectUnused(app, orgId)))
  const oldMs = systemClock.now().getTime() - orphanAfterMs
  const stored = (await app.builder.listImages()).filter(({ storedAtMs }) => storedAtMs < oldMs)
  for (const image of new Set([...unused, ...stored.map((one) => one.image)])) await removeUnknown(app, image)
}

/**
 * Skips organizations with a deployment in progress, and locks the organization so that none can start in the meantime: a build could
 * be about to reuse one of the images.
 */
async function collectUnused(app: WorkerApp, orgId: number): Promise<string[]> {
  return await app.db.transaction(async (tx) => {
    await lockOrg(tx, orgId)
    if (await hasUnfinished(tx, orgId)) return []
    const images = await unusedImagesOf(tx, orgId)
    for (const image of images) await deleteImage(tx, image)
    return images
  })
}

/** Unless a build has recorded it again since. */
async function removeUnknown(app: WorkerApp, image: string): Promise<void> {
  await app.db.transaction(async (tx) => {
    await lockImage(tx, image)
    if (!(await isImageKnown(tx, image))) await app.builder.removeImage(image)
  })
}
