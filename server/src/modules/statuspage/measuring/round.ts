import { statusAlertTexts } from '@shoal/contract'
import { minutes, dayOf, days } from '../../../clock.ts'
import type { App } from '../../../app.ts'
import { newestSampleAt } from '../../metrics/index.ts'
import { addMeasured, addRequests, lockMeasuredTags, type MeasuredTag } from './measure-store.ts'
import type { Db } from '../../../db/database.ts'
import { insertUpdate, resolveIncident } from '../incident-store.ts'
import { insertAutomaticIncident, listAlertsOfPages, listIncidentsOfEndedAlerts } from './automatic-store.ts'

/** Gateways usually write all counts of a minute within this time after its end. */
const maxFlushDelayMs = minutes(2)
/** If the newest sample of any container is older, no worker observes squids, and the recorded states may be out of date. */
const maxSampleAgeMs = minutes(1)

type RoundApp = Pick<App, 'db' | 'clock'>

/**
 * Measures the tags of all enabled pages once: counts the time since the last round as time in the state that is observed now,
 * and adds the requests that gateways have counted. Then opens and resolves the incidents of alerts.
 */
export async function runStatusRound(app: RoundApp, readIsObserved = areSamplesRecent): Promise<void> {
  const now = app.clock.now()
  const nowMs = now.getTime()
  const isObserved = await readIsObserved(app)
  await app.db.transaction(async (tx) => {
    const tags = await lockMeasuredTags(tx)
    const ids = tags.map(({ id }) => id)
    const parts = tags.flatMap((tag) => partsOf(tag, isObserved, nowMs))
    await addMeasured(tx, parts, ids, nowMs)
    await addRequests(tx, ids, Math.floor((nowMs - maxFlushDelayMs) / 60_000) * 60_000)
  })
  await openAndResolveIncidents(app.db, now)
}

async function areSamplesRecent({ db, clock }: RoundApp): Promise<boolean> {
  const at = await newestSampleAt(db)
  return at !== null && clock.now().getTime() - at.getTime() <= maxSampleAgeMs
}

function partsOf(tag: MeasuredTag, isObserved: boolean, nowMs: number) {
  const state = stateOf(tag, isObserved)
  if (!state) return []
  return splitDays(tag.measuredUntilMs, nowMs).map(({ day, ms }) => ({
    tagId: tag.id,
    day,
    upMs: 0,
    downMs: 0,
    hibernatedMs: 0,
    [state]: ms,
  }))
}

/** Returns the counter that the tag's time belongs to; null if its state is unknown, as in a version without an api. */
function stateOf({ desiredState, isUp }: MeasuredTag, isObserved: boolean): 'upMs' | 'downMs' | 'hibernatedMs' | null {
  if (desiredState === 'hibernated') return 'hibernatedMs'
  if (desiredState !== 'running' || isUp === null || !isObserved) return null
  return isUp ? 'upMs' : 'downMs'
}

const openedText = 'This incident was opened automatically.'
const resolvedText = 'The cause has ended. This incident was resolved automatically.'

/**
 * Opens an incident for each open alert whose kind the page publishes and whose version has a tag on the page. Resolves incidents
 * whose alert has ended. Muted alerts open no incidents. An alert opens no second incident after a member removed its first one.
 * The texts are fixed, because the reasons of alerts are private.
 */
async function openAndResolveIncidents(db: Db, now: Date): Promise<void> {
  for (const alert of await listAlertsOfPages(db)) {
    const { title, impact } = statusAlertTexts[alert.kind]
    await db.transaction(async (tx) => {
      const id = await insertAutomaticIncident(tx, {
        orgId: alert.orgId,
        alertId: alert.id,
        title,
        impact,
        tags: alert.tags,
        startedAt: new Date(alert.startedAtMs),
      })
      if (id) await insertUpdate(tx, { incidentId: id, at: now, state: 'INVESTIGATING', text: openedText })
    })
  }
  for (const { id } of await listIncidentsOfEndedAlerts(db))
    await db.transaction(async (tx) => {
      if (!(await resolveIncident(tx, id, now))) return
      await insertUpdate(tx, { incidentId: id, at: now, state: 'RESOLVED', text: resolvedText })
    })
}

/** Maximum time between two rounds. The state during a longer gap is unknown, so the gap is not counted. */
export const maxGapMs = minutes(2)

/** Splits a time span at midnight UTC. Returns the milliseconds in each day; nothing if the span is empty or longer than `maxGapMs`. */
export function splitDays(fromMs: number, toMs: number): { day: string; ms: number }[] {
  if (toMs <= fromMs || toMs - fromMs > maxGapMs) return []
  const parts: { day: string; ms: number }[] = []
  for (let startMs = fromMs; startMs < toMs;) {
    const day = dayOf(startMs)
    const endMs = Math.min(toMs, Date.parse(day) + days(1))
    parts.push({ day, ms: endMs - startMs })
    startMs = endMs
  }
  return parts
}
