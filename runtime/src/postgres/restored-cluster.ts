import { randomBytes } from 'node:crypto'
import { chmodSync, lchownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { walk } from '../build/tree.ts'
import { clusterOwner, reachableBinaries, run, superuser } from './postgres-program.ts'

/**
 * Prepares a copied cluster in `<dir>/data` for `startEmbeddedPostgres`: sets its owner, recovers it to the end of its WAL, and sets
 * a new superuser password, since backups do not contain it.
 * @throws Error with the message of Postgres when it cannot recover
 */
export async function recoverCluster(dir: string): Promise<void> {
  const owner = clusterOwner()
  const dataDir = join(dir, 'data')
  chmodSync(dir, 0o755)
  if (owner) {
    lchownSync(dataDir, owner.uid, owner.gid)
    for await (const { absolute } of walk(dataDir)) lchownSync(absolute, owner.uid, owner.gid)
  }
  const password = randomBytes(24).toString('base64url')
  const program = join(reachableBinaries(dir), 'bin/postgres')
  // In single-user mode, so that no client can connect before the password is set.
  const args = ['--single', '-D', dataDir, '-c', 'log_min_messages=fatal', '-c', 'log_statement=none', 'postgres']
  const output = await run(program, args, owner, `alter role ${superuser} password '${password}'\n`)
  if (/\b(ERROR|FATAL|PANIC):/.test(output)) throw new Error(`The password could not be set: ${output.slice(-2000)}`)
  writeFileSync(join(dir, 'password'), `${password}\n`, { mode: 0o600 })
}
