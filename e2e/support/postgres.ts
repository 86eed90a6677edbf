import { Client } from 'pg'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Connects to a database of the embedded Postgres of this data directory. */
export async function connectTo(dataDir: string, database: string): Promise<Client> {
  const read = (name: string) => readFileSync(join(dataDir, 'postgres', name), 'utf8').trim()
  const port = Number(read('port'))
  const client = new Client({ host: '127.0.0.1', port, user: 'shoal', password: read('password'), database })
  await client.connect()
  return client
}

/** Returns the process id of the embedded Postgres of this data directory. */
export const postmasterOf = (dataDir: string): number =>
  Number(readFileSync(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0])

/** Freezes all processes of the embedded Postgres, as on a host that is out of memory or has a hanging disk. Returns a function that resumes them. */
export function freezePostgres(dataDir: string): () => void {
  const postmaster = postmasterOf(dataDir)
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
