import type { DeploymentChanges } from '@shoal/contract'
import type { FileList, ListedFile } from '@shoal/runtime'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { Db } from '../../db/database.ts'
import { notFound } from '../../errors.ts'
import { saveFiles, selectDeploymentBefore, selectFiles } from './files-store.ts'

/** Maximum size of an unpacked list, far above the size of any list (`runtime/src/build/file-list.ts`). */
const maxListBytes = 16_000_000

/** Records the files of a deployment, so that other deployments can be compared with it after its archive was deleted. */
export async function recordFiles(db: Db, deploymentId: number, list: FileList): Promise<void> {
  await saveFiles(db, deploymentId, await promisify(gzip)(JSON.stringify(list)))
}

/**
 * Compares the files of two deployments of an organization. If `againstId` is null, compares with the previous successful deployment.
 * @throws Refusal 404 when a deployment does not exist or its files are not recorded
 */
export async function readChanges(
  db: Db,
  orgId: number,
  id: number,
  againstId: number | null,
): Promise<DeploymentChanges> {
  const deployment = await selectFiles(db, orgId, id)
  if (!deployment) throw notFound('Deployment')
  const after = await listOf(deployment.content)
  const against = againstId ?? (await selectDeploymentBefore(db, deployment.squidId, id))
  if (against === null) return { against, files: [], unchanged: after.files.length, isComplete: after.isComplete }
  const before = await listOf((await selectFiles(db, orgId, against))?.content ?? null)
  return { against, ...compareFiles(before, after) }
}

async function listOf(content: Buffer | null): Promise<FileList> {
  if (content === null) throw notFound('The list of files of this deployment')
  const json = await promisify(gunzip)(content, { maxOutputLength: maxListBytes })
  return JSON.parse(json.toString('utf8')) as FileList
}

/** Returns the files that differ, sorted by path, and the number of the others. */
export function compareFiles(before: FileList, after: FileList): Omit<DeploymentChanges, 'against'> {
  const earlier = new Map(before.files.map((file) => [file.path, file]))
  const later = new Map(after.files.map((file) => [file.path, file]))
  const paths = [...new Set([...earlier.keys(), ...later.keys()])].sort()
  const changed = paths.filter((path) => earlier.get(path)?.sha256 !== later.get(path)?.sha256)
  const files = changed.map((path) => ({ path, before: sideOf(earlier.get(path)), after: sideOf(later.get(path)) }))
  return { files, unchanged: paths.length - changed.length, isComplete: before.isComplete && after.isComplete }
}

const sideOf = (file: ListedFile | undefined) => (file ? { bytes: file.bytes, text: file.text } : null)
