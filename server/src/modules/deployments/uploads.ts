import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { App } from '../../app.ts'
import { hours, systemClock } from '../../clock.ts'
import { notFound, refuse } from '../../errors.ts'
import { refuseUnlessDeployable } from './requirements.ts'
import { selectOrg } from './store.ts'
import {
  countWaitingUploads,
  insertUpload,
  isContentNeeded,
  lockContent,
  markReceived,
  removeStaleUploads,
  selectUpload,
  type UploadRow,
} from './uploads-store.ts'

/** Archives that no deployment used within this time are removed. */
const keptMs = hours(24)

/** Partial files without a write for this long belong to a killed server. */
const partIdleMs = hours(1)

/** Archives of an organization that may wait for a deployment. */
const maxWaiting = 100

const folder = (app: App) => join(app.config.dataDir, 'uploads')

/** Named by content: the same archive sent twice is one file. */
const fileOf = (app: App, sha256: string) => join(folder(app), sha256)

/**
 * Creates an upload and returns its id.
 * @throws Refusal 405 when the organization may not deploy now, before the archive is sent, or when too many archives wait already
 */
export async function openUpload(app: App, orgId: number, userId: number): Promise<string> {
  refuseUnlessDeployable(await selectOrg(app.db, orgId), app.config, app.clock.now())
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
 * Streams the archive to disk and records it within `writing`, which is a transaction; an upload may be repeated.
 * @throws Refusal 404 unknown; 405 larger than allowed
 */
export async function receiveUpload(
  app: App,
  orgId: number,
  id: string,
  file: Readable,
  writing: (bytes: number, write: () => Promise<void>) => Promise<void>,
): Promise<{ bytes: number }> {
  if (!isUuid(id) || !(await selectUpload(app.db, orgId, id))) throw notFound('Upload')
  await mkdir(folder(app), { recursive: true, mode: 0o700 })
  const part = join(folder(app), `${randomUUID()}.part`)
  try {
    const { sha256, bytes } = await store(file, part, app.config.SHOAL_MAX_UPLOAD_BYTES)
    await writing(bytes, async () => {
      await lockContent(app.db, sha256)
      await rename(part, fileOf(app, sha256))
      await markReceived(app.db, id, { sha256, bytes, receivedAt: app.clock.now() })
    })
    return { bytes }
  } finally {
    await rm(part, { force: true })
  }
}

/** The archive of an `artifactUrl`. @throws Refusal 405 when it is not this organization's or was never received */
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

/** What the public client echoes as `artifactUrl` (contract 2.3). */
export const artifactUrlOf = (uploadId: string): string => `${scheme}${uploadId}`
const scheme = 'shoal-upload:'

/** @throws Error when the file no longer exists */
export const readArtifact = (app: App, sha256: string): Readable => createReadStream(fileOf(app, sha256))

/** Removes unused archives and their files. */
export async function collectUploads(app: App): Promise<void> {
  const stale = await removeStaleUploads(app.db, new Date(app.clock.now().getTime() - keptMs))
  const { contents, parts } = await listOrphanedFiles(app)
  for (const part of parts) await rm(join(folder(app), part), { force: true })
  for (const sha256 of new Set([...stale, ...contents]))
    await app.db.transaction(async (tx) => {
      await lockContent(tx, sha256)
      if (!(await isContentNeeded(tx, sha256))) await rm(fileOf(app, sha256), { force: true })
    })
}

/** Files of killed servers without a row: whole archives, and abandoned partial files. */
async function listOrphanedFiles(app: App): Promise<{ contents: string[]; parts: string[] }> {
  const names = await readdir(folder(app)).catch(() => [])
  const parts: string[] = []
  for (const name of names.filter((name) => name.endsWith('.part'))) {
    const info = await stat(join(folder(app), name)).catch(() => null)
    if (info && info.mtimeMs < systemClock.now().getTime() - partIdleMs) parts.push(name)
  }
  return { contents: names.filter((name) => /^[0-9a-f]{64}$/.test(name)), parts }
}

async function store(file: Readable, path: string, maxBytes: number): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256')
  let bytes = 0
  const count = new Transform({
    transform(chunk: Buffer, _, done) {
      bytes += chunk.length
      hash.update(chunk)
      done(bytes > maxBytes ? tooLarge(maxBytes) : null, chunk)
    },
  })
  await pipeline(file, count, createWriteStream(path, { mode: 0o600, flags: 'wx' }))
  // The multipart parser ends the stream silently at its own limit.
  if ('truncated' in file && file.truncated === true) throw tooLarge(maxBytes)
  if (bytes === 0) throw refuse('EMPTY', 'The archive is empty. Send it as a multipart part named "file".')
  return { sha256: hash.digest('hex'), bytes }
}

const tooLarge = (maxBytes: number) =>
  refuse(
    'TOO_LARGE',
    `The archive is larger than ${maxBytes / 1e6} MB. Exclude unneeded files with a .squidignore file.`,
  )

const isUuid = (text: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
