import { sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'

/** Rows of gateways without a heartbeat for this long are deleted. A gateway that resumes later reports all its routes again. */
const deletedAfterMinutes = 10

/**
 * Records a heartbeat. Returns true when the gateway had no row, and therefore no routes. Uses the database's clock, because the
 * clocks of hosts may differ.
 */
export async function recordGatewayHeartbeat(db: Db, gateway: string): Promise<boolean> {
  const { rows } = await db.execute<{ isNew: boolean }>(sql`
    insert into gateways (id, seen_at) values (${gateway}, now())
    on conflict (id) do update set seen_at = now() returning xmax = 0 as "isNew"`)
  await db.execute(sql`delete from gateways where seen_at < now() - make_interval(mins => ${deletedAfterMinutes})`)
  return rows[0]?.isNew ?? true
}

/** Deletes the row of a gateway that stops, with its routes. */
export async function deleteGateway(db: Db, gateway: string): Promise<void> {
  await db.execute(sql`delete from gateways where id = ${gateway}`)
}

/** Saves the generation to which the gateway routes each version; null when it no longer routes to the version. */
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
      delete from gateway_routes where gateway = ${gateway} and squid_id = any(${sql.param(removed)}::bigint[])`)
}

/** Returns the gateways with a heartbeat within `aliveWithinMs` that do not route to this generation or a newer one yet. */
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
