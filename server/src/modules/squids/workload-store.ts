import { and, eq, inArray, isNotNull, sql } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'
import { squids } from './tables.ts'

const isToRun = and(eq(squids.wanted, 'running'), isNotNull(squids.sealedWorkload))

/** Of the versions that ought to run: `written` changes whenever anything of their row was; their workloads are not read for it. */
export function listWritten(db: Db): Promise<{ squidId: number; written: string }[]> {
  return db
    .select({ squidId: squids.id, written: sql<string>`xmin::text` })
    .from(squids)
    .where(isToRun)
}

export async function selectSealedWorkloads(
  db: Db,
  squidIds: number[],
): Promise<{ squidId: number; sealed: string }[]> {
  const rows = await db
    .select({ squidId: squids.id, sealed: squids.sealedWorkload })
    .from(squids)
    .where(and(isToRun, inArray(squids.id, squidIds)))
  return rows.flatMap(({ squidId, sealed }) => (sealed === null ? [] : [{ squidId, sealed }]))
}
