// Reads tables of other modules: orgs, squid_tags, squids. Routes join versions with their tags and organizations.

import { sql } from '../db/sql.ts'
import type { Db } from '../db/database.ts'

/** The properties of a version that the gateway needs for routing. */
export type Route = {
  squidId: number
  org: string
  name: string
  slot: string
  tags: string[]
  generation: number
  desiredState: 'running' | 'hibernated' | 'deleted'
  /** False until a deployment has succeeded for the first time. */
  hasRun: boolean
  apiReplicas: number
  hasuraReplicas: number
  processors: string[]
  cors: CorsRules | null
}

/** `deploy.cors` of a manifest. */
export type CorsRules = {
  enabled?: boolean
  allow_origin?: string | string[]
  allow_methods?: string | string[]
  allow_headers?: string | string[]
  expose_headers?: string | string[]
  allow_credentials?: boolean
  max_age?: number
}

/** Returns the routes of all versions, or of one. */
export async function selectRoutes(db: Db, squidId?: number): Promise<Route[]> {
  const { rows } = await db.execute<Route>(sql`
    select s.id as "squidId", o.code as org, s.name, s.slot, s.generation, s.desired_state as "desiredState", s.image is not null as "hasRun",
      s.api_replicas as "apiReplicas", s.hasura_replicas as "hasuraReplicas", s.processors, s.cors,
      coalesce((select array_agg(t.tag) from squid_tags t where t.squid_id = s.id), '{}') as tags
    from squids s join orgs o on o.id = s.org_id
    ${squidId === undefined ? sql`` : sql`where s.id = ${squidId}`}`)
  return rows
}
