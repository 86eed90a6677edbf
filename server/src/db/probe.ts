import pg from 'pg'

/** Opens a new connection, which one that is open already does not prove to be possible, and uses it. */
async function withNewConnection(
  options: { url: string; limitMs: number; name: string },
  use: (client: pg.Client) => Promise<unknown>,
): Promise<void> {
  const { url, limitMs, name } = options
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: limitMs,
    query_timeout: limitMs,
    application_name: name,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    await use(client)
  } finally {
    client.end().catch(() => undefined)
  }
}

/** True when a new connection to the database can be made within `limitMs`, or when Postgres itself says why not: then it lives. */
export async function canConnect(url: string, limitMs: number): Promise<boolean> {
  try {
    await withNewConnection({ url, limitMs, name: 'shoal-check' }, async () => undefined)
    return true
  } catch (error) {
    return error instanceof pg.DatabaseError && !error.code?.startsWith('57P')
  }
}

/** True when a new connection can be made within `limitMs` and answers a query within as long. */
export async function canQuery(url: string, limitMs: number): Promise<boolean> {
  try {
    await withNewConnection({ url, limitMs, name: 'shoal-ready' }, (client) => client.query('select 1'))
    return true
  } catch {
    return false
  }
}
