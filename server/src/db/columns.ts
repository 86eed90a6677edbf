import type { PgTable as AnyPgTable } from 'drizzle-orm/pg-core'
import { pgCore } from './drizzle.ts'

export type { AnyPgColumn, CheckBuilder } from 'drizzle-orm/pg-core'
export type PgTable = AnyPgTable
export const {
  PgTable,
  boolean,
  check,
  customType,
  date,
  doublePrecision,
  foreignKey,
  getTableConfig,
  index,
  integer,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
  uuid,
} = pgCore

/** A bigint column whose values are numbers in TypeScript: ids and counters stay far below 2^53. */
export const bigId = () => pgCore.bigint({ mode: 'number' })

/** A primary key column whose values Postgres generates. */
export const id = () => bigId().primaryKey().generatedAlwaysAsIdentity()

/** A column of times with a time zone. */
export const time = () => pgCore.timestamp({ withTimezone: true })
