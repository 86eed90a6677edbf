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

/** An archive that no deployment used within this time is removed. */
const keptMs = hours(24)

/** A part that nobody has written to for so long is of a server that was killed. */
const partIdleMs = hours(1)

/** Archives an organization may have waiting at once. */
const maxWaiting = 100

const folder = (app: App) => join(app.config.dataDir, 'uploads')

/** Named by content: the same archive sent twice is one file. */
const fileOf = (app: App, sha256: string) => join(folder(app), sha256)

/**
 * A place to send an archive to.
 * @throws Refusal 405 when nothing may be deployed now, so that no archive is sent for nothing, or when too many wait already
 */
export async function openUpload(app: App, orgId: number, userId: number): Promise<string> {
  refuseUnlessDeployable(await selectOrg(app.db, orgId), app.config, app.clock.now())
  if ((await countWaitingUploads(app.db, orgId)) >= maxWaiting)
    throw refuse(
      'TOO_MANY_UPLOADS',
      `${maxWaiting} archives were sent and not deployed. Deploy them, or try again tomorrow.`,
    )
  const id = randomUUID()
  await insertUpload(app.db, { id, orgId, userId, createdAt: app.clock.now() })
  return id
}

/**
 * Streams the archive to disk and notes it, within `writing`, which is a transaction; the same upload may be sent again.
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

/** The archive an `artifactUrl` names. @throws Refusal 405 when it is not this organization's or never arrived */
export async function findArtifact(app: App, orgId: number, artifactUrl: string): Promise<UploadRow> {
  const id = artifactUrl.startsWith(scheme) ? artifactUrl.slice(scheme.length) : ''
  const upload = isUuid(id) ? await selectUpload(app.db, orgId, id) : null
  if (!upload?.receivedAt)
    throw refuse('NO_ARTIFACT', 'The archive is not here (any more). Please send it again: repeat the deploy command.')
  return upload
}

/** What the public client echoes as `artifactUrl` (contract 2.3). */
export const artifactUrlOf = (uploadId: string): string => `${scheme}${uploadId}`
const scheme = 'shoal-upload:'

/** @throws Error when it is gone */
export const readArtifact = (app: App, sha256: string): Readable => createReadStream(fileOf(app, sha256))

/** Removes archives that nobody needs any more, and their files. */
export async function collectUploads(app: App): Promise<void> {
  const stale = await removeStaleUploads(app.db, new Date(app.clock.now().getTime() - keptMs))
  const { contents, parts } = await listLeftBehind(app)
  for (const part of parts) await rm(join(folder(app), part), { force: true })
  for (const sha256 of new Set([...stale, ...contents]))
    await app.db.transaction(async (tx) => {
      await lockContent(tx, sha256)
      if (!(await isContentNeeded(tx, sha256))) await rm(fileOf(app, sha256), { force: true })
    })
}

/** Files without a row, which servers left that were killed: whole archives, and parts nobody writes to any more. */
async function listLeftBehind(app: App): Promise<{ contents: string[]; parts: string[] }> {
  const names = await readdir(folder(app)).catch(() => [])
  const parts: string[] = []
  for (const name of names.filter((one) => one.endsWith('.part'))) {
    const found = await stat(join(folder(app), name)).catch(() => null)
    if (found && found.mtimeMs < systemClock.now().getTime() - partIdleMs) parts.push(name)
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
  // The reader of multipart bodies ends the stream quietly at its own limit.
  if ('truncated' in file && file.truncated === true) throw tooLarge(maxBytes)
  if (bytes === 0) throw refuse('EMPTY', 'The archive is empty. Send it as a multipart part named "file".')
  return { sha256: hash.digest('hex'), bytes }
}

const tooLarge = (maxBytes: number) =>
  refuse(
    'TOO_LARGE',
    `The archive is larger than ${maxBytes / 1e6} MB. Leave out what the squid does not need with a .squidignore file.`,
  )

const isUuid = (text: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
