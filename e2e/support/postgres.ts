import { Client } from 'pg'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The embedded Postgres clusters: one for the control plane, and one for squids. */
export type Cluster = 'postgres' | 'postgres-squids'

/** Connects to a database of the embedded Postgres of this data directory; databases of squids (`sq_…`) are in the cluster of squids. */
export async function connectTo(
  dataDir: string,
  database: string,
  cluster: Cluster = database.startsWith('sq_') ? 'postgres-squids' : 'postgres',
): Promise<Client> {
  const read = (name: string) => readFileSync(join(dataDir, cluster, name), 'utf8').trim()
  const port = Number(read('port'))
  const client = new Client({ host: '127.0.0.1', port, user: 'shoal', password: read('password'), database })
  await client.connect()
  return client
}

/** Returns the process id of the embedded Postgres of this data directory. */
export const postmasterOf = (dataDir: string, cluster: Cluster = 'postgres'): number =>
  Number(readFileSync(join(dataDir, cluster, 'data/postmaster.pid'), 'utf8').split('\n')[0])

/** Freezes all processes of the embedded Postgres, to simulate a host that is out of memory or whose disk hangs. Returns a function that resumes them. */
export function freezePostgres(dataDir: string, cluster: Cluster = 'postgres'): () => void {
  const postmaster = postmasterOf(dataDir, cluster)
  const parentOf = (pid: string) => {
    try {
      return Number(
        readFileSync(`/proc/${pid}/stat`, 'utf8')
          .replace(/^.*\) \S /s, '')
          .split(' ')[0],
      )
    } catch {
      return 0
    }
  }
  const frozen: number[] = []
  const freeze = (pid: number) => {
    process.kill(pid, 'SIGSTOP')
    frozen.push(pid)
  }
  // The postmaster first, so that it starts no new process.
  freeze(postmaster)
  for (const pid of readdirSync('/proc')) if (/^\d+$/.test(pid) && parentOf(pid) === postmaster) freeze(Number(pid))
  return () => {
    for (const pid of frozen.splice(0).toReversed()) process.kill(pid, 'SIGCONT')
  }
}
