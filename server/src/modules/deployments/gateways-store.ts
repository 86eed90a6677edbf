import { sql } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'

/** Gateways that were not seen for so long are forgotten; one that wakes up after that says everything again. */
const forgottenAfterMinutes = 10

/** Says that the gateway lives; true when it was not known, so that none of its routes are. Times are the database's: hosts may differ. */
export async function beatGateway(db: Db, gateway: string): Promise<boolean> {
  const { rows } = await db.execute<{ isNew: boolean }>(sql`
    insert into gateways (id, seen_at) values (${gateway}, now())
    on conflict (id) do update set seen_at = now() returning xmax = 0 as "isNew"`)
  await db.execute(sql`delete from gateways where seen_at < now() - make_interval(mins => ${forgottenAfterMinutes})`)
  return rows[0]?.isNew ?? true
}

export async function deleteGateway(db: Db, gateway: string): Promise<void> {
  await db.execute(sql`delete from gateways where id = ${gateway}`)
}

/** Which generation the gateway leads to from now on; null: it no longer knows the version. One statement for any number of them. */
export async function saveGatewayRoutes(db: Db, gateway: string, routes: Map<number, number | null>): Promise<void> {
  const led = [...routes].filter(([, generation]) => generation !== null)
  const gone = [...routes].filter(([, generation]) => generation === null).map(([squidId]) => squidId)
  if (led.length > 0)
    await db.execute(sql`
      insert into gateway_routes (squid_id, gateway, generation)
      select squid_id, ${gateway}, generation from jsonb_to_recordset(${JSON.stringify(
        led.map(([squid_id, generation]) => ({ squid_id, generation })),
      )}::jsonb) as t(squid_id bigint, generation integer)
      on conflict (squid_id, gateway) do update set generation = excluded.generation`)
  if (gone.length > 0)
    await db.execute(sql`
      delete from gateway_routes where gateway = ${gateway} and squid_id in
      (select value::bigint from jsonb_array_elements_text(${JSON.stringify(gone)}::jsonb))`)
}

/** Those that were seen within `aliveWithinMs` and do not lead to this generation of the version, or a later one, yet. */
export async function gatewaysBehind(
  db: Db,
  wanted: { squidId: number; generation: number; aliveWithinMs: number },
): Promise<string[]> {
  const { rows } = await db.execute<{ id: string }>(sql`
    select g.id from gateways g
    left join gateway_routes r on r.gateway = g.id and r.squid_id = ${wanted.squidId}
    where g.seen_at > now() - make_interval(secs => ${wanted.aliveWithinMs / 1000})
      and coalesce(r.generation, -1) < ${wanted.generation}`)
  return rows.map((row) => row.id)
}
