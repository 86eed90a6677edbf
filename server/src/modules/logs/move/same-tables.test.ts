import { join } from 'node:path'
import type { Pool } from 'pg'
import { expect, test } from 'vitest'
import { migrate } from '../../../db/migrate.ts'
import { cloneDatabase, emptyDatabase } from '../../../testing/test-database.ts'

/** Returns the columns and constraints of the tables of logs, which the control plane and a separate database both have. */
async function schemaOf(pool: Pool): Promise<unknown[]> {
  const { rows } = await pool.query(`
    select c.relname as table, a.attname as column, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as "notNull",
      a.attstorage as storage, pg_get_expr(d.adbin, d.adrelid) as expression,
      (select array_agg(pg_get_constraintdef(o.oid) order by pg_get_constraintdef(o.oid)) from pg_constraint o where o.conrelid = c.oid and contype in ('c', 'p')) as constraints,
      (select array_agg(pg_get_indexdef(i.indexrelid) order by pg_get_indexdef(i.indexrelid)) from pg_index i where i.indrelid = c.oid) as indexes
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where relname in ('log_cursors', 'log_notices', 'log_streams', 'log_org_usage', 'log_drops', 'log_lines', 'log_blocks')
    order by 1, 2`)
  return rows
}

test('a separate database of logs has the same tables as the control plane', async () => {
  const [own, controlPlane] = [await emptyDatabase(), await cloneDatabase()]
  try {
    await migrate(own.pool, join(import.meta.dirname, '../../../../migrations/logs'))
    const expected = await schemaOf(controlPlane.pool)
    expect(expected.length).toBeGreaterThan(30)
    expect(await schemaOf(own.pool)).toEqual(expected)
  } finally {
    await Promise.all([own.close(), controlPlane.close()])
  }
})
