import type { Db } from '../db/database.ts'
import { shoalCommand } from './version.ts'
import { selectMoveMark } from './move-mark-store.ts'

/** The installation was moved to another database, or the move to this one has not ended. The message says where to continue. */
export class InstallationMoved extends Error {
  override name = 'InstallationMoved'
}

/** @throws InstallationMoved if the installation is not in this database, so that no program may run or change it from here */
export async function requireNotMoved(db: Db): Promise<void> {
  const mark = await selectMoveMark(db)
  if (mark?.state === 'departed')
    throw new InstallationMoved(
      `This installation was moved to ${mark.other} at ${mark.changedAt.toISOString()}. Start it with the settings of the move. If the command "${shoalCommand()} move-runtime" was interrupted, run it again: it ends the move. To move it back, run the command with the settings of the moved installation, and --to a file with the settings of this one.`,
    )
  if (mark?.state === 'copied')
    throw new InstallationMoved(
      `The move of an installation from ${mark.other} to this database has not ended. Run "${shoalCommand()} move-runtime" again, with the same settings; until then, the installation can be started there.`,
    )
}

const watchMs = 5_000

/**
 * Calls `onMoved` once if the installation is moved while this process runs, for example because the process started during the move.
 * Returns a function that stops watching.
 */
export function watchMoves(db: Db, onMoved: (error: InstallationMoved) => void, everyMs = watchMs): () => void {
  const check = () =>
    requireNotMoved(db).catch((error: unknown) => {
      // While the database is unavailable, the installation is assumed not to have moved.
      if (!(error instanceof InstallationMoved)) return
      clearInterval(timer)
      onMoved(error)
    })
  const timer = setInterval(() => void check(), everyMs).unref()
  return () => clearInterval(timer)
}
