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
