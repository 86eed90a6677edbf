import { minutes } from '../../../clock.ts'
import type { App } from '../../../app.ts'
import { openAndResolveIncidents } from './automatic-incidents.ts'
import { newestSampleAt } from '../../metrics/index.ts'
import { addMeasured, addRequests, lockMeasuredTags, type MeasuredTag } from './measure-store.ts'
import { splitDays } from './split-days.ts'

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
