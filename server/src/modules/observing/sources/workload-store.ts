// Reads tables of other modules: squids. Polls which rows changed without reading workloads.

import { and, eq, inArray, isNotNull, sql } from 'drizzle-orm'
import type { Db } from '../../../db/database.ts'
import { squids } from '../../versions/index.ts'

const isToRun = and(eq(squids.wanted, 'running'), isNotNull(squids.sealedWorkload))

/** Versions whose desired state is running. `written` changes with every write of the row; the workload itself is not read. */
export function listRowVersions(db: Db): Promise<{ squidId: number; written: string }[]> {
  return db
    .select({ squidId: squids.id, written: sql<string>`xmin::text` })
    .from(squids)
    .where(isToRun)
}

export type SealedWorkload = {
  squidId: number
  sealed: string
  secretNames: string[]
  manifestCurrent: Record<string, unknown>
  sourceHosts: string[]
}

export async function selectSealedWorkloads(db: Db, squidIds: number[]): Promise<SealedWorkload[]> {
  const { id, sealedWorkload, secretNames, manifestCurrent, sourceHosts } = squids
  const rows = await db
    .select({ squidId: id, sealed: sealedWorkload, secretNames, manifestCurrent, sourceHosts })
    .from(squids)
    .where(and(isToRun, inArray(squids.id, squidIds)))
  return rows.flatMap(({ sealed, ...row }) => (sealed === null ? [] : [{ ...row, sealed }]))
}
