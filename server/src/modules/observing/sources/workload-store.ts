// Reads tables of other modules: squids. Polls for changed rows, and reads only the workloads in them.

import { and, eq, inArray, isNotNull, sql } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import { squids } from '../../versions/index.ts'

const isDesiredRunning = and(eq(squids.desiredState, 'running'), isNotNull(squids.sealedWorkload))

/** Lists the versions whose desired state is running. `rowVersion` changes with every write of the row; the workload itself is not read. */
export async function listWorkloadVersions(db: Db): Promise<{ squidId: number; rowVersion: string }[]> {
  const { rows } = await db.execute<{ squidId: number; rowVersion: string }>(
    sql`select id as "squidId", xmin::text as "rowVersion" from squids where ${isDesiredRunning}`,
  )
  return rows
}

/** A version's sealed workload, and what else determines its data sources. */
export type SealedWorkload = {
  squidId: number
  sealed: string
  secretNames: string[]
  manifestCurrent: Record<string, unknown>
  sourceHosts: string[]
}

/** Returns the workloads of those of the versions whose desired state is running. */
export async function selectRunningWorkloads(db: Db, squidIds: number[]): Promise<SealedWorkload[]> {
  const { id, sealedWorkload, secretNames, manifestCurrent, sourceHosts } = squids
  const rows = await db
    .select({ squidId: id, sealed: sealedWorkload, secretNames, manifestCurrent, sourceHosts })
    .from(squids)
    .where(and(isDesiredRunning, inArray(squids.id, squidIds)))
  return rows.flatMap(({ sealed, ...row }) => (sealed === null ? [] : [{ ...row, sealed }]))
}
