import type { App } from '../app.ts'
import { every } from '../db/every.ts'
import { markResumed, selectMoveMark } from '../installation/move-mark-store.ts'
import { installationMoves } from '../modules/deployments/index.ts'

const everyMs = 1_000

/**
 * After a move of the installation, waits until all restarted versions run, and logs how long they were down. Ends
 * immediately otherwise. The returned function stops it.
 */
export function startArrivalReport(app: Pick<App, 'db' | 'log' | 'clock'>): { close: () => Promise<void> } {
  const ended = new AbortController()
  const onError = (err: unknown) => app.log.warn({ err }, 'the state of the move could not be read')
  const done = every(ended.signal, { ms: everyMs, onError }, async () => {
    const mark = await selectMoveMark(app.db)
    if (mark?.state !== 'arrived' || mark.resumedAt !== null) return ended.abort()
    const { all, unfinished, failed } = await installationMoves.countRestarts(app.db, mark.id)
    const now = app.clock.now()
    if (unfinished > 0 || !(await markResumed(app.db, now))) return
    const downSeconds = Math.round((now.getTime() - mark.stoppedAt.getTime()) / 100) / 10
    app.log.info(
      { versions: all, failed, downSeconds },
      `The move from ${mark.other} has ended: ${all - failed} of ${all} versions run again, ${downSeconds} s after their programs were stopped.${failed > 0 ? ' The deployments of the others show why they do not start.' : ''}`,
    )
  })
  return {
    close: async () => {
      ended.abort()
      await done
    },
  }
}
