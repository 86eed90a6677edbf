import type { App } from '../../app.ts'
import { every } from '../../db/every.ts'
import { measured } from '../../health/loops.ts'
import { runAsLeader, type LeaderHandle } from '../../db/leases.ts'
import type { Thresholds } from '../observing/index.ts'
import { listAllOpenAlerts } from './event-store.ts'
import { listAllMutes } from './mute-store.ts'
import { applyTransition, notifyUnmuted } from './rules/apply.ts'
import { evaluateAlerts, emptyState, findInSlices } from './rules/evaluate.ts'
import { createFactsReader } from './rules/read-facts.ts'
import { listAllChangedRules } from './rules/rules-store.ts'
import { thresholdsOf, rulesOf } from './rules/rules.ts'

const roundIntervalMs = 15_000

/**
 * Starts the loop that opens and ends alerts. Only one worker runs it at a time. `afterRound` runs after each round, even a failed one,
 * and its failure does not affect alerts: status pages use the same loop.
 */
export function startAlerts(app: App, afterRound: () => Promise<void> = async () => {}): LeaderHandle {
  return runAsLeader(app.database, app.log, 'alerts', async (_, signal) => {
    const runRound = measured(app, 'alerts', roundIntervalMs, createAlertsRound(app))
    const runAfter = measured(app, 'status pages', roundIntervalMs, afterRound)
    // A failed round changes nothing: open alerts stay open.
    const onError = (error: unknown) => app.log.error({ err: error }, 'evaluating alerts failed')
    await every(signal, { ms: roundIntervalMs, isFixedRate: true, onError }, async () => {
      await runRound().catch(onError)
      await runAfter().catch((error: unknown) => app.log.error({ err: error }, 'measuring status pages failed'))
    })
  })
}

/** Returns a function that runs one round. The function keeps its state in memory between rounds; open alerts are in the database. */
export function createAlertsRound(app: App): () => Promise<void> {
  const readFacts = createFactsReader(app)
  let state = emptyState

  return async () => {
    const now = app.clock.now()
    const thresholds = await readThresholds(app)
    const [facts, events, mutes] = await Promise.all([
      readFacts(),
      listAllOpenAlerts(app.db),
      listAllMutes(app.db, now),
    ])
    const open = facts.areQuotasKnown ? events : events.filter(({ kind }) => kind !== 'QUOTA_NEAR')
    const nowMs = now.getTime()
    const findings = await findInSlices(facts, thresholds, nowMs)
    const result = evaluateAlerts(facts, thresholds, { open, state, nowMs, findings })
    state = result.state
    for (const transition of result.transitions)
      // A failure to store one alert must not block the others.
      await applyTransition(app, transition, mutes, now).catch((error: unknown) =>
        app.log.error({ err: error, transition }, 'an alert could not be stored'),
      )
    const ended = new Set(result.transitions.flatMap((t) => (t.type === 'end' ? [t.id] : [])))
    await notifyUnmuted(
      app,
      events.filter(({ id }) => !ended.has(id)),
      mutes,
      now,
    )
  }
}

/** Returns a function that looks up the thresholds of an organization: its own settings, or the defaults. */
async function readThresholds({ db }: App): Promise<(orgId: number) => Thresholds> {
  const defaultThresholds = thresholdsOf(rulesOf([]))
  const changedRules = Map.groupBy(await listAllChangedRules(db), (rule) => rule.orgId)
  const thresholds = new Map([...changedRules].map(([orgId, rules]) => [orgId, thresholdsOf(rulesOf(rules))]))
  return (orgId) => thresholds.get(orgId) ?? defaultThresholds
}
