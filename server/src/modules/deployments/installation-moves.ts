import type { Db } from '../../db/database.ts'
import { switchSquid } from '../versions/index.ts'
import { enqueue } from './enqueue.ts'
import { renameImage } from './images-store.ts'
import { countRestarts, listInProgress, listRunning, listUsedImages } from './installation-moves-store.ts'

/** The prefix of the request keys of all restarts after moves. */
const movedPrefix = 'installation moved '
/** The prefix of the request keys of the restarts after this move, by which workers count them. */
const restartPrefix = (moveId: string): string => `${movedPrefix}${moveId} `

/**
 * Renames images, and enqueues a restart of each version whose programs should run, because their stored workloads have the addresses of
 * the source of the move. Until its restart, a version runs no program. Returns the number of these versions.
 */
async function enqueueRestarts(
  tx: Db,
  at: Date,
  move: { id: string; images: Record<string, string> },
): Promise<number> {
  for (const [from, to] of Object.entries(move.images)) await renameImage(tx, from, to)
  const versions = await listRunning(tx, movedPrefix)
  for (const version of versions) {
    await switchSquid(tx, version.id, { sealedWorkload: null })
    const requestKey = `${restartPrefix(move.id)}${version.id}`
    await enqueue(tx, at, version, { type: 'RESTART', userId: null, requestKey, image: version.image })
  }
  return versions.length
}

/** The functions of deployments and images that the move of an installation between two configurations needs. */
export const installationMoves = {
  listInProgress,
  listRunning: (db: Db) => listRunning(db, movedPrefix),
  listUsedImages,
  enqueueRestarts,
  countRestarts: (db: Db, moveId: string) => countRestarts(db, restartPrefix(moveId)),
}
