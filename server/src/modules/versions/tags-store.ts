import { and, asc, eq } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { notifySquidChanged, type SquidRow } from './store.ts'
import { squidTags } from './tables.ts'

type TaggedSquid = Pick<SquidRow, 'id' | 'orgId' | 'name'>

/** Assigns the tag to the version in one statement, which removes it from any other version of the squid. */
export async function setTag(db: Db, squid: TaggedSquid, tag: string, at: Date): Promise<void> {
  await db
    .insert(squidTags)
    .values({ orgId: squid.orgId, squidName: squid.name, tag, squidId: squid.id, setAt: at })
    .onConflictDoUpdate({
      target: [squidTags.orgId, squidTags.squidName, squidTags.tag],
      set: { squidId: squid.id, setAt: at },
    })
  await notifySquidChanged(db, squid.id)
}

/** Removes the tag from the version. Does nothing if the version does not have the tag. */
export async function removeTag(db: Db, squid: TaggedSquid, tag: string): Promise<void> {
  await db.delete(squidTags).where(and(eq(squidTags.squidId, squid.id), eq(squidTags.tag, tag)))
  await notifySquidChanged(db, squid.id)
}

/** Returns the tags of the version, sorted by name. */
export async function tagsOf(db: Db, squidId: number): Promise<string[]> {
  const rows = await db
    .select({ tag: squidTags.tag })
    .from(squidTags)
    .where(eq(squidTags.squidId, squidId))
    .orderBy(asc(squidTags.tag))
  return rows.map((row) => row.tag)
}
