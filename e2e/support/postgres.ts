import { Client } from 'pg'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A connection to a database of the Postgres that Shoal runs on this data directory. */
export async function connectTo(dataDir: string, database: string): Promise<Client> {
  const read = (name: string) => readFileSync(join(dataDir, 'postgres', name), 'utf8').trim()
  const port = Number(read('port'))
  const client = new Client({ host: '127.0.0.1', port, user: 'shoal', password: read('password'), database })
  await client.connect()
  return client
}
