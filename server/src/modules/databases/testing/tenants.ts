import { Client } from 'pg'
import type { TestApp } from '../../../testing/index.ts'
import { parseManifest } from '../../manifest/manifest.ts'
import { parsePlan } from '../../manifest/plan.ts'
import { insertSquid } from '../../versions/store.ts'
import { ownerConnection, syncDatabase, type SquidConnection } from '../database.ts'

/** A version with a database, and the connection of its owner. */
export type Tenant = SquidConnection & { squidId: number }

/** Versions with databases, and their sessions. */
export type Tenants = {
  /** Adds a version with a database to an organization, by default a new one. */
  add: (orgId?: number) => Promise<Tenant>
  /** Opens a session as the owner of a database. */
  open: (tenant: Tenant) => Promise<Client>
  /** The lines about the database in the log of a version. */
  noticesOf: (tenant: Tenant) => Promise<string[]>
  /** Ends all sessions. */
  endSessions: () => Promise<void>
}

const plan = parsePlan(parseManifest('deploy: { addons: { postgres: {} }, processor: { cmd: [x] } }'))

export function createTenants(t: TestApp): Tenants {
  let count = 0
  const clients: Client[] = []
  return {
    add: async (orgId) => {
      const id = orgId ?? (await t.make.org()).id
      const { id: squidId } = await insertSquid(t.app.db, { orgId: id, name: `squid-${++count}`, slot: 'v1' })
      await syncDatabase(t.app, { squidId, plan, isPlayground: false })
      const connection = await ownerConnection(t.app, squidId)
      if (!connection) throw new Error('no database')
      return { ...connection, squidId }
    },
    open: async ({ url }) => {
      const client = new Client(url)
      client.on('error', () => {})
      await client.connect()
      clients.push(client)
      return client
    },
    noticesOf: async ({ squidId }) => {
      const { rows } = await t.app.database.pool.query<{ message: string }>(
        'select message from squid_notices where squid_id = $1 order by id',
        [squidId],
      )
      return rows.map(({ message }) => message)
    },
    endSessions: async () => void (await Promise.allSettled(clients.splice(0).map((client) => client.end()))),
  }
}

/** Whether the session of a client can execute statements. */
export const isOpen = (client: Client): Promise<boolean> =>
  client.query('select 1').then(
    () => true,
    () => false,
  )
