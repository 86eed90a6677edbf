import { Semaphore } from '@shoal/runtime'
import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { App } from '../../app.ts'
import { ArtifactsUnavailable, type ReceivedArtifact } from '../../artifacts/artifact-store.ts'
import { hours, systemClock } from '../../clock.ts'
import { inBackground } from '../../db/query-timeouts.ts'
import { notFound, refuse, Refusal } from '../../errors.ts'
import { isUuid } from '../parse-id.ts'
import { checkDiskForRequest, checkMayDeploy } from './requirements.ts'
import { selectOrg } from './store.ts'
import { acquireUploadPermit } from './upload-permits.ts'
import {
  countWaitingUploads,
  insertUpload,
  isContentNeeded,
  lockContent,
  markReceived,
  removeStaleUploads,
  selectUpload,
  sumStoredBytes,
  type UploadRow,
} from './uploads-store.ts'

/** Archives are removed after this time, unless a deployment in progress uses them. */
const maxAgeMs = hours(24)

/** The maximum number of an organization's uploads that no deployment has used. */
const maxWaiting = 100

/**
 * Maximum number of concurrent transactions of uploads. Each keeps a database connection while it waits for the store, or for another
 * transaction with the same content, and all calls share these connections.
 */
const transactions = new Semaphore(4)

/**
 * Creates an upload and returns its id.
 * @throws Refusal 405 when the organization may not deploy now, or when it has too many uploads that no deployment has used
 */
export async function openUpload(app: App, orgId: number, userId: number): Promise<string> {
  checkMayDeploy(await selectOrg(app.db, orgId), app.config, app.clock.now())
  if ((await countWaitingUploads(app.db, orgId)) >= maxWaiting)
    throw refuse(
      'TOO_MANY_UPLOADS',
      `${maxWaiting} archives were uploaded and not deployed. Deploy them, or try again tomorrow.`,
    )
  const id = randomUUID()
  await insertUpload(app.db, { id, orgId, userId, createdAt: app.clock.now() })
  return id
}

/**
 * Streams the archive to the store, and records it with `inTransaction`, which must run its argument in a transaction. A client may
 * repeat an upload.
 * @throws Refusal 404 when the upload does not exist; 405 when the archive is empty or too large, or while the disk is almost full; 429
 * while the organization sends too many archives; 503 when the store is unavailable
 */
export async function receiveUpload(
  app: App,
  orgId: number,
  id: string,
  file: Readable,
  inTransaction: (bytes: number, write: () => Promise<void>) => Promise<void>,
): Promise<{ bytes: number }> {
  const upload = isUuid(id) ? await selectUpload(app.db, orgId, id) : null
  if (!upload) throw notFound('Upload')
  await using permit = await acquireUploadPermit(app, orgId)
  await checkDiskForRequest(app.config)
  await checkStoredBytes(app, orgId, id, 0)
  // Without its permit, the upload would no longer be counted.
  permit.lost.addEventListener('abort', () => file.destroy(unavailable()), { once: true })
  try {
    await using artifact = disposable(await app.artifacts.receive(checkSize(file, app.config.SHOAL_MAX_UPLOAD_BYTES)))
    const { sha256, bytes } = artifact
    await checkStoredBytes(app, orgId, id, bytes)
    const write = async () => {
      await lockContent(app.db, sha256)
      await artifact.keep()
      await markReceived(app.db, id, { sha256, bytes, receivedAt: app.clock.now() })
    }
    // In the background, since these transactions have their own limit: they do not use the organization's share of the connections.
    await transactions.run(() => inBackground(() => inTransaction(bytes, write)))
    if (upload.sha256 && upload.sha256 !== sha256) await removeUnneeded(app, upload.sha256)
    return { bytes }
  } catch (error) {
    if (!(error instanceof ArtifactsUnavailable)) throw error
    app.log.error(error.message)
    throw unavailable()
  }
}

const unavailable = () =>
  new Refusal(503, 'ARCHIVES_UNAVAILABLE', 'The archive cannot be stored at the moment. Please try again in a minute.')

/** @throws Refusal 429 when the organization's archives, with `bytes` instead of those of upload `id`, would exceed their limit */
async function checkStoredBytes(app: App, orgId: number, id: string, bytes: number): Promise<void> {
  const limitMb = app.config.SHOAL_ORG_ARCHIVES_MB
  if (limitMb === 0 || (await sumStoredBytes(app.db, orgId, id)) + bytes <= limitMb * 1e6) return
  throw new Refusal(
    429,
    'TOO_MANY_ARCHIVES',
    `The archives that the organization sent in the last day may have ${limitMb} MB together. Please send smaller ones, or try again later.`,
  )
}

const disposable = (artifact: ReceivedArtifact) => ({ ...artifact, [Symbol.asyncDispose]: artifact.discard })

/** Returns the upload of an `artifactUrl`. @throws Refusal 405 when it is not this organization's or was never received */
export async function findArtifact(app: App, orgId: number, artifactUrl: string): Promise<UploadRow> {
  const id = artifactUrl.startsWith(scheme) ? artifactUrl.slice(scheme.length) : ''
  const upload = isUuid(id) ? await selectUpload(app.db, orgId, id) : null
  if (!upload?.receivedAt)
    throw refuse(
      'NO_ARTIFACT',
      'The archive was not received or has expired. Please repeat the deploy command to send it again.',
    )
  return upload
}

/** Returns the `fileUrl` of an upload, which the public client sends back as `artifactUrl`. */
export const artifactUrlOf = (uploadId: string): string => `${scheme}${uploadId}`
const scheme = 'shoal-upload:'

/** Removes unused archives, and the leftovers of interrupted uploads. @throws ArtifactsUnavailable */
export async function removeUnusedArchives(app: App): Promise<void> {
  const stale = await removeStaleUploads(app.db, new Date(app.clock.now().getTime() - maxAgeMs))
  for (const sha256 of new Set([...stale, ...(await app.artifacts.list())])) await removeUnneeded(app, sha256)
  // Runs last, because it can fail: in S3 it needs permissions that nothing else needs.
  await app.artifacts.removeInterrupted(systemClock.now())
}

async function removeUnneeded(app: App, sha256: string): Promise<void> {
  await app.db.transaction(async (tx) => {
    await lockContent(tx, sha256)
    if (!(await isContentNeeded(tx, sha256))) await app.artifacts.remove(sha256)
  })
}

/** Yields the content of the archive. @throws Refusal 405 when it is empty or larger than `maxBytes` */
async function* checkSize(file: Readable, maxBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of file as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    yield chunk
  }
  // The multipart parser ends the stream silently at its own limit.
  if ('truncated' in file && file.truncated === true) throw tooLarge(maxBytes)
  if (bytes === 0) throw refuse('EMPTY', 'The archive is empty. Send it as a multipart part named "file".')
}

const tooLarge = (maxBytes: number) =>
  refuse(
    'TOO_LARGE',
    `The archive is larger than ${maxBytes / 1e6} MB. Exclude unneeded files with a .squidignore file.`,
  )
