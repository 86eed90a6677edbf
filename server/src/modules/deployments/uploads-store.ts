import { and, count, eq, isNotNull, lt, ne, sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { uploads } from './tables.ts'

export type UploadRow = typeof uploads.$inferSelect

/** Inserts an upload whose archive has not arrived yet. */
export async function insertUpload(db: Db, upload: typeof uploads.$inferInsert): Promise<void> {
  await db.insert(uploads).values(upload)
}

/** Returns the upload; null if the organization has no such upload. */
export async function selectUpload(db: Db, orgId: number, id: string): Promise<UploadRow | null> {
  const [row] = await db
    .select()
    .from(uploads)
    .where(and(eq(uploads.orgId, orgId), eq(uploads.id, id)))
  return row ?? null
}

/** Returns the number of the organization's uploads that no deployment has used. */
export async function countWaitingUploads(db: Db, orgId: number): Promise<number> {
  const [row] = await db
    .select({ uploads: count() })
    .from(uploads)
    .where(
      and(eq(uploads.orgId, orgId), sql`not exists (select 1 from deployments d where d.upload_id = ${uploads.id})`),
    )
  return row?.uploads ?? 0
}

/** Returns the size of the organization's archives, without that of upload `id`. */
export async function sumStoredBytes(db: Db, orgId: number, id: string): Promise<number> {
  const [row] = await db
    .select({ bytes: sql<number>`coalesce(sum(${uploads.bytes}), 0)::float8` })
    .from(uploads)
    .where(and(eq(uploads.orgId, orgId), ne(uploads.id, id)))
  return row?.bytes ?? 0
}

/** Locks the file with this content until the transaction ends. The seed of the hash is used for no other locks. */
export async function lockContent(db: Db, sha256: string): Promise<void> {
  await db.execute(sql`select pg_advisory_xact_lock(hashtextextended(${sha256}, 5404103))`)
}

/** Records that the whole archive has arrived. */
export async function markReceived(
  db: Db,
  id: string,
  received: { sha256: string; bytes: number; receivedAt: Date },
): Promise<void> {
  await db.update(uploads).set(received).where(eq(uploads.id, id))
}

/** Removes uploads that were created before `time` and that no deployment in progress needs; returns the hashes of their contents. */
export async function removeStaleUploads(db: Db, time: Date): Promise<string[]> {
  const rows = await db
    .delete(uploads)
    .where(
      and(
        lt(uploads.createdAt, time),
        sql`not exists (select 1 from deployments d where d.upload_id = ${uploads.id} and d.finished_at is null)`,
      ),
    )
    .returning({ sha256: uploads.sha256 })
  return [...new Set(rows.flatMap((row) => row.sha256 ?? []))]
}

/** Whether any upload has received this content. */
export async function isContentNeeded(db: Db, sha256: string): Promise<boolean> {
  const [row] = await db
    .select({ uploads: count() })
    .from(uploads)
    .where(and(eq(uploads.sha256, sha256), isNotNull(uploads.receivedAt)))
  return (row?.uploads ?? 0) > 0
}
