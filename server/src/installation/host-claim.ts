import { randomUUID } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { App, WorkerApp } from '../app.ts'
import { shoalCommand } from './version.ts'
import { deleteClaim, putClaim, selectClaim, type Claim } from './host-claim-store.ts'

/** Another host or data directory runs the squids of this installation. The message contains instructions for the operator. */
export class HostClaimed extends Error {
  override name = 'HostClaimed'
}

const watchMs = 5_000

/**
 * Claims the squids of this installation for this data directory. Must be called before any squid is started: squids outlive the
 * worker, and a worker on another host, which cannot detect them, would start them all a second time. The claim does not expire.
 * @throws HostClaimed if another host or data directory holds the claim
 */
export async function claimHost({ config, db, runtime }: WorkerApp): Promise<void> {
  if (!runtime.ownsHost) return
  const host = hostIdOf(config.dataDir)
  const location = `${hostname()}:${config.dataDir}`
  // An embedded Postgres is in the data directory, so its owner may take over the claim, for example after a restore on another host.
  const isClaimed = await putClaim(db, { runtime: runtime.name, host, location }, config.DATABASE_URL === undefined)
  const claim = isClaimed ? null : await selectClaim(db)
  if (claim) throw new HostClaimed(claimedMessage(claim))
}

/**
 * Calls `onLost` once if the claim is released or taken over by another host; this worker must then stop its squids and exit.
 * Returns a function that stops watching.
 */
export function watchClaim(
  { config, db, runtime }: WorkerApp,
  onLost: (error: HostClaimed) => void,
  everyMs = watchMs,
): () => void {
  if (!runtime.ownsHost) return () => {}
  const host = hostIdOf(config.dataDir)
  const check = async () => {
    const claim = await selectClaim(db)
    if (claim?.host === host) return
    clearInterval(timer)
    onLost(
      new HostClaimed(
        claim ? claimedMessage(claim) : 'The squids were released from this host, so this worker stops them.',
      ),
    )
  }
  // While the database is unavailable, the claim is assumed to be unchanged.
  const timer = setInterval(() => void check().catch(() => undefined), everyMs).unref()
  return () => clearInterval(timer)
}

/** Deletes the claim, so that the next worker that starts can claim the squids. Returns where they ran: `{released, since}`. */
export async function releaseHost({ db }: Pick<App, 'db'>): Promise<Record<string, unknown>> {
  const claim = await deleteClaim(db)
  return claim ? { released: claim.location, since: claim.takenAt.toISOString() } : { released: 'nothing was claimed' }
}

/** Returns the claim of the squids if another host or data directory holds it; null otherwise. */
export async function claimOfOtherHost({ config, db }: Pick<App, 'config' | 'db'>): Promise<Claim | null> {
  const claim = await selectClaim(db)
  return claim && claim.host !== hostIdOf(config.dataDir) ? claim : null
}

const claimedMessage = ({ location, takenAt }: Claim): string =>
  `The squids of this installation run at ${location}, since ${takenAt.toISOString()}. If this worker also started them, each would run twice on one database. Start the worker on that host. If the host no longer exists, run "${shoalCommand()} host release" and start this worker again.`

/** Returns the random id of the data directory, which is created on first use. */
function hostIdOf(dataDir: string): string {
  const file = join(dataDir, 'host.id')
  if (!existsSync(file)) {
    const temporary = `${file}.${randomUUID()}`
    writeFileSync(temporary, randomUUID(), { mode: 0o600 })
    try {
      // Atomic, and fails if another process has created the file first.
      linkSync(temporary, file)
    } catch (error) {
      if (!existsSync(file)) throw error
    } finally {
      rmSync(temporary)
    }
  }
  return readFileSync(file, 'utf8').trim()
}
