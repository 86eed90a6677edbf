// Reads tables of other modules: squids. Each organization has its own share of probes.

import { inBatches } from '../../db/batches.ts'
import { and, eq, inArray, or, sql, type SQL } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import type { App } from '../../app.ts'
import { putValidRows } from '../../db/put-valid-rows.ts'
import { squids } from '../versions/index.ts'
import { apiStates, containerRuns, containerStates, processorSources, processorStates } from './tables.ts'

export type ContainerRow = typeof containerStates.$inferSelect
export type RunRow = typeof containerRuns.$inferSelect
export type ProcessorRow = typeof processorStates.$inferSelect
export type ApiRow = typeof apiStates.$inferSelect
export type SourceRow = typeof processorSources.$inferSelect

/** All rows that record observations. */
export type Observations = {
  containers: ContainerRow[]
  processors: ProcessorRow[]
  apis: ApiRow[]
  sources: SourceRow[]
}

/** Where observations are written, and where rows are logged that Postgres cannot store. */
type Target = { db: Db; log: App['log'] }

/** Returns all recorded observations. */
export async function selectObservations(db: Db): Promise<Observations> {
  const [containers, processors, apis, sources] = await Promise.all([
    db.select().from(containerStates),
    db.select().from(processorStates),
    db.select().from(apiStates),
    db.select().from(processorSources),
  ])
  return { containers, processors, apis, sources }
}

/** Returns the ids of the organizations of those versions that still exist. */
export async function selectOrgs(db: Db, squidIds: number[]): Promise<Map<number, number>> {
  const orgs = new Map<number, number>()
  for (const batch of inBatches(squidIds)) {
    const rows = await db.select({ id: squids.id, orgId: squids.orgId }).from(squids).where(inArray(squids.id, batch))
    for (const { id, orgId } of rows) orgs.set(id, orgId)
  }
  return orgs
}

/** The metrics of a processor that samples contain. */
export type ProcessorProgress = Pick<
  ProcessorRow,
  | 'squidId'
  | 'generation'
  | 'processor'
  | 'currentBlock'
  | 'totalBlocks'
  | 'blocksPerSecond'
  | 'etaSeconds'
  | 'syncRatio'
  | 'rpcRequests'
  | 'rpcFailures'
> & { scrapedAtMs: number; isUnanswered: boolean }

/** Returns the last metrics of every processor. */
export async function selectProcessorProgress(db: Db): Promise<ProcessorProgress[]> {
  const { rows } = await db.execute<ProcessorProgress>(sql`
    select squid_id as "squidId", generation, processor, current_block as "currentBlock", total_blocks as "totalBlocks",
      blocks_per_second as "blocksPerSecond", eta_seconds as "etaSeconds", sync_ratio as "syncRatio", rpc_requests as "rpcRequests",
      rpc_failures as "rpcFailures", date_part('epoch', scraped_at) * 1000 as "scrapedAtMs", unanswered_since is not null as "isUnanswered"
    from processor_states`)
  return rows
}

/** The totals over the runs of a container. */
export type ContainerTotals = Pick<
  ContainerRow,
  'squidId' | 'generation' | 'container' | 'state' | 'restarts' | 'oomKills' | 'run' | 'runEnd'
>

/** Returns the totals of every container. */
export async function selectContainerTotals(db: Db): Promise<ContainerTotals[]> {
  const { rows } = await db.execute<ContainerTotals>(sql`
    select squid_id as "squidId", generation, container, state, restarts, oom_kills as "oomKills", run, run_end as "runEnd"
    from container_states`)
  return rows
}

/** Inserts or updates the states of containers. */
export async function putContainers(target: Target, rows: ContainerRow[]): Promise<void> {
  await putValidRows(target, containerStates, rows, ['squidId', 'generation', 'container'])
}

/** Inserts or updates runs, and deletes all but the newest `limit` runs of each of their containers. */
export async function putRuns(target: Target, rows: RunRow[], limit: number): Promise<void> {
  const t = containerRuns
  for (const batch of inBatches(rows)) {
    await putValidRows(target, t, batch, ['squidId', 'generation', 'container', 'run'])
    await target.db.execute(sql`
      delete from container_runs r using (
        select squid_id, generation, container, run, row_number() over (
          partition by squid_id, generation, container order by started_at desc, ordinal desc) as rank
        from container_runs where ${matchesAnyKey(batch, t.squidId, t.generation, t.container)}
      ) old
      where old.rank > ${limit} and r.squid_id = old.squid_id and r.generation = old.generation
        and r.container = old.container and r.run = old.run`)
  }
}

/** Inserts or updates the metrics of processors. */
export async function putProcessors(target: Target, rows: ProcessorRow[]): Promise<void> {
  await putValidRows(target, processorStates, rows, ['squidId', 'generation', 'processor'])
}

/** Inserts or updates the probe results of apis and Hasura. */
export async function putApis(target: Target, rows: ApiRow[]): Promise<void> {
  await putValidRows(target, apiStates, rows, ['squidId', 'generation', 'container'])
}

/** Inserts or updates the data sources that do not respond. */
export async function putSources(target: Target, rows: SourceRow[]): Promise<void> {
  await putValidRows(target, processorSources, rows, ['squidId', 'generation', 'processor'])
}

/** Deletes the rows of data sources that respond again. */
export async function deleteSources(db: Db, rows: SourceRow[]): Promise<void> {
  const t = processorSources
  const keys = rows.map(({ processor, ...row }) => ({ ...row, container: processor }))
  for (const batch of inBatches(keys))
    await db.delete(t).where(matchesAnyKey(batch, t.squidId, t.generation, t.processor))
}

type ContainerKey = { squidId: number; generation: number; container: string }

/** Deletes containers that no longer exist, with their observations. */
export async function deleteContainers(db: Db, keys: ContainerKey[]): Promise<void> {
  for (const batch of inBatches(keys)) {
    const [c, r, p, a, s] = [containerStates, containerRuns, processorStates, apiStates, processorSources]
    await db.delete(r).where(matchesAnyKey(batch, r.squidId, r.generation, r.container))
    await db.delete(c).where(matchesAnyKey(batch, c.squidId, c.generation, c.container))
    await db.delete(p).where(matchesAnyKey(batch, p.squidId, p.generation, p.processor))
    await db.delete(a).where(matchesAnyKey(batch, a.squidId, a.generation, a.container))
    await db.delete(s).where(matchesAnyKey(batch, s.squidId, s.generation, s.processor))
  }
}

type Column = Parameters<typeof eq>[0]

const matchesAnyKey = (keys: ContainerKey[], squidId: Column, generation: Column, name: Column): SQL | undefined =>
  or(...keys.map((key) => and(eq(squidId, key.squidId), eq(generation, key.generation), eq(name, key.container))))
