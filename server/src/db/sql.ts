import type { SQL } from 'drizzle-orm'
import { orm } from './drizzle.ts'

export type { SQL }
export const {
  DrizzleQueryError,
  and,
  asc,
  count,
  desc,
  eq,
  getTableColumns,
  getTableName,
  gt,
  gte,
  inArray,
  is,
  isNotNull,
  isNull,
  lt,
  lte,
  max,
  min,
  ne,
  notInArray,
  or,
  sql,
} = orm

/** Converts epoch milliseconds to a timestamp. */
export const timestampSql = (ms: number): SQL => sql`to_timestamp(${ms}::float8 / 1000)`

/**
 * SQL for an array of ids, for `squid_id = any(…)`. Since a query computes the array, Postgres plans for few ids, and searches an index for
 * each of them. For an array of hundreds of ids, and for `squid_id in (select …)`, it would read the whole table. `array(select …)` has the
 * same effect.
 */
export const idArray = (ids: number[]): SQL => sql`array(select unnest(${sql.param(ids)}::bigint[]))`
