import { eq } from '../../../../db/sql.ts'
import type { TestApp, TestOrg } from '../../../../testing/index.ts'
import { alertEvents } from '../../tables.ts'
import { enqueueTransition } from '../enqueue.ts'

type AlertOptions = Partial<typeof alertEvents.$inferInsert>

/** Opens, worsens and ends alerts as rules do: the row and its deliveries in one transaction. */
export function alertMaker(t: Pick<TestApp, 'app' | 'clock'>) {
  let count = 0
  return {
    open: async (org: Pick<TestOrg, 'id'>, options: AlertOptions = {}): Promise<number> => {
      const at = t.clock.now()
      return await t.app.db.transaction(async (tx) => {
        const [row] = await tx
          .insert(alertEvents)
          .values({
            orgId: org.id,
            kind: 'CRASH_LOOP',
            severity: 'CRITICAL',
            squidId: 7000 + ++count,
            squidName: 'lending',
            squidSlot: 'v1',
            container: 'eth',
            label: 'eth keeps crashing',
            reason: 'It ended with an error 5 times. See its logs.',
            startedAt: at,
            ...options,
          })
          .returning()
        if (!row) throw new Error('No alert was opened')
        await enqueueTransition(t.app, tx, { orgId: org.id, event: row, what: 'OPENED', at, isQuiet: false })
        return row.id
      })
    },
    /** Makes the alert critical. Channels are notified as if it had opened again. */
    worsen: async (org: Pick<TestOrg, 'id'>, eventId: number): Promise<void> => {
      await t.app.db.transaction(async (tx) => {
        const [row] = await tx
          .update(alertEvents)
          .set({ severity: 'CRITICAL' })
          .where(eq(alertEvents.id, eventId))
          .returning()
        if (!row) throw new Error('No alert was changed')
        const at = t.clock.now()
        await enqueueTransition(t.app, tx, { orgId: org.id, event: row, what: 'OPENED', at, isQuiet: false })
      })
    },
    end: async (org: Pick<TestOrg, 'id'>, eventId: number, { isQuiet = false } = {}): Promise<void> => {
      const at = t.clock.now()
      await t.app.db.transaction(async (tx) => {
        const [row] = await tx.update(alertEvents).set({ endedAt: at }).where(eq(alertEvents.id, eventId)).returning()
        if (!row) throw new Error('No alert was ended')
        await enqueueTransition(t.app, tx, { orgId: org.id, event: row, what: 'ENDED', at, isQuiet })
      })
    },
  }
}
