import type { App } from '../../app.ts'
import { every } from '../../db/every.ts'
import { runAsLeader, type LeaderHandle } from '../../db/leases.ts'
import type { Limits } from '../observing/index.ts'
import { listAllOpen } from './event-store.ts'
import { listAllMutes } from './mute-store.ts'
import { applyTransition, notifyUnmuted } from './rules/apply.ts'
import { evaluateAlerts, emptyState } from './rules/evaluate.ts'
import { factsReader } from './rules/read-facts.ts'
import { listAllChosen } from './rules/rules-store.ts'
import { limitsOf, rulesOf } from './rules/rules.ts'

const everyMs = 15_000

/** Starts the loop that opens and ends alerts. One worker at a time runs it. */
export function startAlerts(app: App): LeaderHandle {
  return runAsLeader(app.database, app.log, 'alerts', async (_, signal) => {
    const turn = alertsRound(app)
    // A failed round changes nothing: open alerts stay open.
    const failed = (error: unknown) => app.log.error({ err: error }, 'evaluating alerts failed')
    await every(signal, { ms: everyMs, isFixedRate: true, onError: failed }, turn)
  })
}

/** Returns a function that runs one round. It keeps the state between rounds; open alerts are in the database. */
export function alertsRound(app: App): () => Promise<void> {
  const readFacts = factsReader(app)
  let memory = emptyState

  return async () => {
    const now = app.clock.now()
    const limits = await readLimits(app)
    const [facts, events, mutes] = await Promise.all([readFacts(), listAllOpen(app.db), listAllMutes(app.db, now)])
    const open = facts.areQuotasKnown ? events : events.filter(({ kind }) => kind !== 'QUOTA_NEAR')
    const result = evaluateAlerts(facts, limits, open, memory, now.getTime())
    memory = result.memory
    for (const transition of result.transitions)
      // An alert that cannot be stored must not hold up the others.
      await applyTransition(app.db, transition, mutes, now).catch((error: unknown) =>
        app.log.error({ err: error, transition }, 'an alert could not be written'),
      )
    const ended = new Set(result.transitions.flatMap((t) => (t.type === 'end' ? [t.id] : [])))
    await notifyUnmuted(
      app.db,
      events.filter(({ id }) => !ended.has(id)),
      mutes,
      now,
    )
  }
}

/** The limits of each organization: its own settings, or the defaults. */
async function readLimits({ db }: App): Promise<(orgId: number) => Limits> {
  const usual = limitsOf(rulesOf([]))
  const chosen = Map.groupBy(await listAllChosen(db), (rule) => rule.orgId)
  const limits = new Map([...chosen].map(([orgId, rules]) => [orgId, limitsOf(rulesOf(rules))]))
  return (orgId) => limits.get(orgId) ?? usual
}
