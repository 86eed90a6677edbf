import pg from 'pg'

/** Runs `use` on a new connection: an existing connection does not prove that the database accepts new ones. */
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

/** Whether Postgres accepts a new connection within `limitMs`, or rejects it for a reason other than shutting down or starting up. */
export async function canConnect(url: string, limitMs: number): Promise<boolean> {
  try {
    await withNewConnection({ url, limitMs, name: 'shoal-check' }, async () => undefined)
    return true
  } catch (error) {
    return error instanceof pg.DatabaseError && !error.code?.startsWith('57P')
  }
}

/** Whether a new connection opens within `limitMs` and completes a query within another `limitMs`. */
export async function canQuery(url: string, limitMs: number): Promise<boolean> {
  try {
    await withNewConnection({ url, limitMs, name: 'shoal-ready' }, (client) => client.query('select 1'))
    return true
  } catch {
    return false
  }
}
