// Reads tables of other modules: installation. Runs before the database is migrated, when that table may not exist yet.

import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'

/** How long the clients of killed processes may take to disconnect. */
const graceMs = 5_000

/** Whether other clients are connected to the database of the control plane. Waits until clients of killed processes have disconnected. */
export async function hasOtherClients(url: string): Promise<boolean> {
  return await withClient(url, async (client) => {
    const deadlineMs = performance.now() + graceMs
    for (;;) {
      const { rowCount } = await client.query(`select 1 from pg_stat_activity where datname = 'shoal'
        and backend_type = 'client backend' and pid <> pg_backend_pid()`)
      if (rowCount === 0) return false
      if (performance.now() > deadlineMs) return true
      await pause(100)
    }
  })
}

type Contents = {
  databases: { name: string; oid: number }[]
  roles: string[]
  /** The databases and roles of squids, which are moved to their own cluster. */
  moved: { databases: string[]; roles: string[] }
}

/** Reads the databases and roles of a cluster, and which of them belong to squids. */
export async function readClusterContents(url: (database: string) => string): Promise<Contents> {
  const { databases, roles } = await withClient(url('postgres'), async (client) => ({
    databases: (await client.query<{ name: string; oid: number }>('select datname as name, oid::int8 from pg_database'))
      .rows,
    roles: (await client.query<{ name: string }>(`select rolname as name from pg_roles where rolname !~ '^pg_'`)).rows,
  }))
  const prefix = databases.some(({ name }) => name === 'shoal') ? await withClient(url('shoal'), readPrefix) : null
  const names = (list: { name: string }[]) => list.map(({ name }) => name)
  const namesOfSquids = (list: { name: string }[]) =>
    names(list).filter((name) => prefix !== null && name.startsWith(`${prefix}_`))
  return { databases, roles: names(roles), moved: { databases: namesOfSquids(databases), roles: namesOfSquids(roles) } }
}

/** Reads the prefix of the databases of squids; null if the installation has had no squids yet. */
async function readPrefix(client: pg.Client): Promise<string | null> {
  const { rows } = await client.query<{ table: string | null }>(`select to_regclass('installation')::text as table`)
  if (!rows[0]?.table) return null
  const result = await client.query<{ prefix: string }>('select prefix from installation')
  return result.rows[0]?.prefix ?? null
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'shoal move' })
  // If the connection breaks, the current query fails; without a listener, the error would also end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
