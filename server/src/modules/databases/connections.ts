import type { App } from '../../app.ts'
import { clusterConnections, programsWithDatabase } from './connections-store.ts'

/** Connections that programs on the SDK keep open: an api a pool of five, a processor one, and another while it commits (contract 4.2). */
const ofApi = 5
const ofProcessor = 2

/** Connections of Shoal itself to the same Postgres: the pool, the queue, leases and listeners of one process of each role. */
const ofShoal = 50

type Programs = { apiReplicas: number; processors: number }

const neededBy = ({ apiReplicas, processors }: Programs) => apiReplicas * ofApi + processors * ofProcessor

/**
 * Why there are not enough connections left for the programs of a version beside all other running programs; null when there are.
 * Counts the connections that programs keep open, not the maximum of their roles.
 */
export async function whyNoConnections(app: App, squidId: number, programs: Programs): Promise<string | null> {
  const { max } = await clusterConnections(app.squidsDatabase)
  const taken = neededBy(await programsWithDatabase(app.db, squidId))
  const needed = neededBy(programs)
  const free = max - ofShoal - taken
  if (needed <= free) return null
  return `The Postgres of this installation has no connections left for this version: it needs ${needed}, and ${Math.max(0, free)} of ${max} are free. Hibernate or delete a version that is not needed, or lower scale.api.replicas; the operator can allow more with SHOAL_POSTGRES_CONNECTIONS, or max_connections of an external Postgres.`
}

const warnShare = 0.8
/** The warning is repeated only after usage has dropped below this share, so that usage around `warnShare` is logged once. */
const calmShare = 0.7

/** Returns a function to call periodically. It logs a warning when nearly all connections are in use. */
export function connectionWatch(app: App): () => Promise<void> {
  let isWarned = false
  return async () => {
    const { max, open } = await clusterConnections(app.squidsDatabase)
    const share = open / max
    if (share < calmShare) isWarned = false
    if (share < warnShare || isWarned) return
    isWarned = true
    app.log.warn(
      { open, max },
      'Most connections of the Postgres are in use. Squids that find none fail. Allow more with SHOAL_POSTGRES_CONNECTIONS, or max_connections of an external Postgres, or run fewer squids.',
    )
  }
}

/** The connections of the Postgres with the databases of squids: the maximum, and those open now. */
export const connectionsOf = (app: Pick<App, 'squidsDatabase'>): Promise<{ max: number; open: number }> =>
  clusterConnections(app.squidsDatabase)
