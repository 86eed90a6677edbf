import type { WorkerApp } from '../../app.ts'
import type { Job } from '../../jobs/jobs.ts'
import { forgetImage, orgsWithUnusedImages, unusedImagesOf } from '../squids/index.ts'
import { hasUnfinished, lockOrg } from './store.ts'
import { collectUploads } from './uploads.ts'

/** What takes room on disk and nobody needs goes, every hour. */
export const collectionJobs = (app: WorkerApp): Job<never>[] => [
  { name: 'deployments.collect-uploads', schedule: '7 * * * *', run: () => collectUploads(app) },
  { name: 'deployments.collect-images', schedule: '17 * * * *', run: () => collectImages(app) },
]

/**
 * Removes images that no version runs or keeps. Only of organizations without a deployment in progress, and none can begin
 * meanwhile: a build could be about to use one of them again.
 */
export async function collectImages(app: WorkerApp): Promise<void> {
  for (const orgId of await orgsWithUnusedImages(app.db))
    await app.db.transaction(async (tx) => {
      await lockOrg(tx, orgId)
      if (await hasUnfinished(tx, orgId)) return
      for (const image of await unusedImagesOf(tx, orgId)) {
        await app.builder.removeImage(image)
        await forgetImage(tx, image)
      }
    })
}
