import { randomUUID } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { App, WorkerApp } from '../app.ts'
import { deleteClaim, putClaim, selectClaim, type Claim } from './host-claim-store.ts'

/** Another host or data directory runs the squids of this installation; the message is for the operator. */
export class HostClaimed extends Error {
  override name = 'HostClaimed'
}

const watchMs = 5_000

/**
 * Claims the squids of this installation for this data directory, before anything of it is started or looked at: programs outlive
 * the worker, and a worker that does not see them would start them all a second time. The claim does not expire.
 * @throws HostClaimed when another host or data directory has it
 */
export async function claimHost({ config, db, runtime }: WorkerApp): Promise<void> {
  if (!runtime.ownsHost) return
  const host = hostIdOf(config.dataDir)
  const place = `${hostname()}:${config.dataDir}`
  // An embedded Postgres lies in the data directory: whoever has the one has the other, also after a restore elsewhere.
  const isOurs = await putClaim(db, { runtime: runtime.name, host, place }, config.DATABASE_URL === undefined)
  const claim = isOurs ? null : await selectClaim(db)
  if (claim) throw new HostClaimed(refusal(claim))
}

/** Calls `lost` once when the claim was given up or is another's: this worker must end and stop what it runs. Answers how to stop watching. */
export function watchClaim(
  { config, db, runtime }: WorkerApp,
  lost: (error: HostClaimed) => void,
  everyMs = watchMs,
): () => void {
  if (!runtime.ownsHost) return () => {}
  const host = hostIdOf(config.dataDir)
  const look = async () => {
    const claim = await selectClaim(db)
    if (claim?.host === host) return
    clearInterval(timer)
    lost(new HostClaimed(claim ? refusal(claim) : 'The squids were released from this host: they are stopped here.'))
  }
  // While the database is away nothing is known, and nothing changes.
  const timer = setInterval(() => void look().catch(() => undefined), everyMs).unref()
  return () => clearInterval(timer)
}

/** `{released, since}`: from where, so that the worker that starts next gets them. */
export async function releaseHost({ db }: Pick<App, 'db'>): Promise<Record<string, unknown>> {
  const claim = await deleteClaim(db)
  return claim ? { released: claim.place, since: claim.takenAt.toISOString() } : { released: 'nothing was claimed' }
}

const refusal = ({ place, takenAt }: Claim): string =>
  `The squids of this installation run at ${place}, since ${takenAt.toISOString()}. Started here too, each of them would run twice on one database. Start the worker there. If that host is gone for good, run "npm run -s shoal -- host release" and start this worker again.`

/** A random name of the data directory, made once. */
function hostIdOf(dataDir: string): string {
  const file = join(dataDir, 'host.id')
  if (!existsSync(file)) {
    const made = `${file}.${randomUUID()}`
    writeFileSync(made, randomUUID(), { mode: 0o600 })
    try {
      // In one step, and only if no other process was faster.
      linkSync(made, file)
    } catch (error) {
      if (!existsSync(file)) throw error
    } finally {
      rmSync(made)
    }
  }
  return readFileSync(file, 'utf8').trim()
}
