import { randomBytes } from 'node:crypto'
import { chmodSync, lchownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { walk } from '../build/tree.ts'
import { clusterOwner, runSingleUser, superuser } from './postgres-program.ts'

/**
 * Prepares a copied cluster in `<dir>/data` for `startEmbeddedPostgres`: sets its owner, recovers it to the end of its WAL, and sets
 * a new superuser password, since backups do not contain the password.
 * @throws Error with the message of Postgres when the cluster cannot be recovered
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
  // Uses single-user mode, so that no client can connect before the password is set.
  await runSingleUser(dir, [`alter role ${superuser} password '${password}'`])
  writeFileSync(join(dir, 'password'), `${password}\n`, { mode: 0o600 })
}
