import { Client } from 'pg'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The embedded Postgres clusters: one for the control plane, and one for squids. */
export type Cluster = 'postgres' | 'postgres-squids'

/** Connects to a database of the embedded Postgres as superuser. By default, databases named `sq_…` are in the cluster of squids, all others in that of the control plane. */
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

/** Returns the process id that the embedded Postgres has written to its data directory; null without one. */
export function findPostmaster(dataDir: string, cluster: Cluster = 'postgres'): number | null {
  const file = join(dataDir, cluster, 'data/postmaster.pid')
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : null
}

/** Like `findPostmaster`. @throws if there is none */
export function postmasterOf(dataDir: string, cluster: Cluster = 'postgres'): number {
  const pid = findPostmaster(dataDir, cluster)
  if (pid === null) throw new Error(`No Postgres runs in ${join(dataDir, cluster)}`)
  return pid
}

/**
 * Freezes all processes of the embedded Postgres, to simulate a host that is out of memory or whose disk hangs. Returns a function that
 * resumes them.
 */
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
  // The postmaster is frozen first, so that it cannot start a process.
  freeze(postmaster)
  for (const pid of readdirSync('/proc')) if (/^\d+$/.test(pid) && parentOf(pid) === postmaster) freeze(Number(pid))
  return () => {
    for (const pid of frozen.splice(0).toReversed()) process.kill(pid, 'SIGCONT')
  }
}
