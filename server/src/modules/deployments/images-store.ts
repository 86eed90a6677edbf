// Writes tables of other modules: squids. An image that a version runs is in use, and is renamed in the version's row.

import { and, desc, eq, inArray, notInArray, sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { squids } from '../versions/index.ts'
import { deployments, images, squidImages } from './tables.ts'

/** An image that a version keeps for rollbacks. */
export type KeptImage = typeof squidImages.$inferSelect

/** Records the image, so that it is removed when no version uses it. */
export async function recordImage(db: Db, image: typeof images.$inferInsert): Promise<void> {
  await db
    .insert(images)
    .values(image)
    .onConflictDoUpdate({ target: images.image, set: { bytes: image.bytes } })
}

/**
 * Locks the image against being recorded or removed until the transaction ends. The seed of the hash is used for no other locks.
 */
export async function lockImage(tx: Db, image: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${image}, 5404104))`)
}

/** Whether the image has a row. An image without a row is removed from disk. */
export async function isImageRecorded(db: Db, image: string): Promise<boolean> {
  const rows = await db.select({ image: images.image }).from(images).where(eq(images.image, image))
  return rows.length > 0
}

/** Records the image for rollbacks, and deletes the records of older images: a version keeps its newest `maxKept` different images. */
export async function keepImage(db: Db, row: KeptImage, maxKept: number): Promise<void> {
  await db.insert(squidImages).values(row).onConflictDoNothing()
  const rows = await db
    .select({ image: squidImages.image })
    .from(squidImages)
    .where(eq(squidImages.squidId, row.squidId))
    .orderBy(desc(squidImages.deploymentId))
  const newest = [...new Set(rows.map((r) => r.image))].slice(0, maxKept)
  await db.delete(squidImages).where(and(eq(squidImages.squidId, row.squidId), notInArray(squidImages.image, newest)))
}

/** Returns the kept images of a version, newest first. */
export function listKeptImages(db: Db, squidId: number): Promise<KeptImage[]> {
  return db.select().from(squidImages).where(eq(squidImages.squidId, squidId)).orderBy(desc(squidImages.deploymentId))
}

/** Returns the ids of the given deployments whose image is kept. */
export async function deploymentsWithKeptImage(db: Db, deploymentIds: number[]): Promise<Set<number>> {
  if (deploymentIds.length === 0) return new Set()
  const rows = await db
    .select({ id: squidImages.deploymentId })
    .from(squidImages)
    .where(inArray(squidImages.deploymentId, deploymentIds))
  return new Set(rows.map((row) => row.id))
}

/** Returns the organizations with images that no version runs or keeps. */
export async function orgsWithUnusedImages(db: Db): Promise<number[]> {
  const rows = await db.selectDistinct({ orgId: images.orgId }).from(images).where(isUnused)
  return rows.map((row) => row.orgId)
}

/** Returns the organization's images that no version runs or keeps. */
export async function unusedImagesOf(db: Db, orgId: number): Promise<string[]> {
  const rows = await db
    .select({ image: images.image })
    .from(images)
    .where(and(eq(images.orgId, orgId), isUnused))
  return rows.map((row) => row.image)
}

/** Deletes the row of the image. Its files are removed later. */
export async function deleteImage(db: Db, image: string): Promise<void> {
  await db.delete(images).where(eq(images.image, image))
}

const isUnused = sql`not exists (select 1 from squid_images k where k.image = ${images.image})
  and not exists (select 1 from squids s where s.image = ${images.image})`

/** Gives an image another name everywhere, such as that in a registry. Images with the same content may get the same name. */
export async function renameImage(tx: Db, from: string, to: string): Promise<void> {
  await tx.update(squids).set({ image: to }).where(eq(squids.image, from))
  await tx.update(squidImages).set({ image: to }).where(eq(squidImages.image, from))
  await tx.update(deployments).set({ image: to }).where(eq(deployments.image, from))
  const [row] = await tx.delete(images).where(eq(images.image, from)).returning()
  if (row)
    await tx
      .insert(images)
      .values({ ...row, image: to })
      .onConflictDoNothing()
}
