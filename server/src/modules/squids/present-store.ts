import { and, asc, desc, eq, ilike, inArray, sql, type SQL } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'
import { orgs, roles } from '../orgs/index.ts'
import { apiStates, containerStates, processorStates, squidDatabases, squids, squidTags } from './tables.ts'

export type SquidFilter = { name?: string | undefined; search?: string | undefined }

/** Versions of an organization, by name and newest first. `search` is a part of `name@slot`, in any case (spec 2.7). */
export function selectSquids(db: Db, orgId: number, filter: SquidFilter) {
  return db
    .select()
    .from(squids)
    .where(and(eq(squids.orgId, orgId), filter.name ? eq(squids.name, filter.name) : undefined, found(filter.search)))
    .orderBy(asc(squids.name), desc(squids.id))
}

function found(search: string | undefined): SQL | undefined {
  if (!search) return undefined
  const pattern = `%${search.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
  return ilike(sql`${squids.name} || '@' || ${squids.slot}`, pattern)
}

/** Versions in all organizations of a person, with the organization. */
export function selectSquidsOf(db: Db, userId: number, name: string | undefined) {
  return db
    .select({ squid: squids, org: { id: orgs.id, code: orgs.code, name: orgs.name } })
    .from(squids)
    .innerJoin(orgs, eq(orgs.id, squids.orgId))
    .innerJoin(roles, eq(roles.orgId, orgs.id))
    .where(and(eq(roles.userId, userId), sql`${orgs.deletedAt} is null`, name ? eq(squids.name, name) : undefined))
    .orderBy(asc(orgs.code), asc(squids.name), desc(squids.id))
}

/** What stands in other tables about some versions; observations only of the generation that serves. */
export async function selectParts(db: Db, squidIds: number[]) {
  if (squidIds.length === 0) return { tags: [], databases: [], containers: [], processors: [], apis: [] }
  const [tags, databases, containers, processors, apis] = await Promise.all([
    db.select().from(squidTags).where(inArray(squidTags.squidId, squidIds)).orderBy(asc(squidTags.tag)),
    db.select().from(squidDatabases).where(inArray(squidDatabases.squidId, squidIds)),
    db.select().from(containerStates).where(ofServing(containerStates, squidIds)),
    db.select().from(processorStates).where(ofServing(processorStates, squidIds)),
    db.select().from(apiStates).where(ofServing(apiStates, squidIds)),
  ])
  return { tags, databases, containers, processors, apis }
}

function ofServing(table: typeof containerStates | typeof processorStates | typeof apiStates, squidIds: number[]) {
  const serving = sql`(select ${squids.generation} from ${squids} where ${squids.id} = ${table.squidId})`
  return and(inArray(table.squidId, squidIds), sql`${table.generation} = ${serving}`)
}
