import { sql } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'

/** Gateways without a heartbeat for this long are deleted; one that wakes up later reports all its routes again. */
const deletedAfterMinutes = 10

/** Records a heartbeat; true when the gateway was unknown, and so were its routes. Uses the database's clock, as hosts may differ. */
export async function beatGateway(db: Db, gateway: string): Promise<boolean> {
  const { rows } = await db.execute<{ isNew: boolean }>(sql`
    insert into gateways (id, seen_at) values (${gateway}, now())
    on conflict (id) do update set seen_at = now() returning xmax = 0 as "isNew"`)
  await db.execute(sql`delete from gateways where seen_at < now() - make_interval(mins => ${deletedAfterMinutes})`)
  return rows[0]?.isNew ?? true
}

export async function deleteGateway(db: Db, gateway: string): Promise<void> {
  await db.execute(sql`delete from gateways where id = ${gateway}`)
}

/** Saves the generation that the gateway routes each version to; null: it no longer has the version. One statement for all. */
export async function saveGatewayRoutes(db: Db, gateway: string, routes: Map<number, number | null>): Promise<void> {
  const routed = [...routes].filter(([, generation]) => generation !== null)
  const removed = [...routes].filter(([, generation]) => generation === null).map(([squidId]) => squidId)
  if (routed.length > 0)
    await db.execute(sql`
      insert into gateway_routes (squid_id, gateway, generation)
      select squid_id, ${gateway}, generation from jsonb_to_recordset(${JSON.stringify(
        routed.map(([squid_id, generation]) => ({ squid_id, generation })),
      )}::jsonb) as t(squid_id bigint, generation integer)
      on conflict (squid_id, gateway) do update set generation = excluded.generation`)
  if (removed.length > 0)
    await db.execute(sql`
      delete from gateway_routes where gateway = ${gateway} and squid_id in
      (select value::bigint from jsonb_array_elements_text(${JSON.stringify(removed)}::jsonb))`)
}

/** Gateways that were alive within `aliveWithinMs` and do not route to this generation of the version, or a later one, yet. */
export async function gatewaysBehind(
  db: Db,
  target: { squidId: number; generation: number; aliveWithinMs: number },
): Promise<string[]> {
  const { rows } = await db.execute<{ id: string }>(sql`
    select g.id from gateways g
    left join gateway_routes r on r.gateway = g.id and r.squid_id = ${target.squidId}
    where g.seen_at > now() - make_interval(secs => ${target.aliveWithinMs / 1000})
      and coalesce(r.generation, -1) < ${target.generation}`)
  return rows.map((row) => row.id)
}
