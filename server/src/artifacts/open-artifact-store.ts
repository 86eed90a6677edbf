import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { ArtifactStore } from './artifact-store.ts'
import { createFileStore } from './file-store.ts'

/**
 * Opens the store that the configuration selects: a directory, or S3. The S3 client is loaded only if it is used.
 * @param installation returns the id of the installation, which separates installations that share a bucket
 */
export async function openArtifactStore(config: Config, installation: () => Promise<string>): Promise<ArtifactStore> {
  if (!config.s3) return createFileStore(join(config.dataDir, 'uploads'))
  const { createS3Store } = await import('./s3-store.ts')
  return createS3Store(config.s3, await installation())
}
