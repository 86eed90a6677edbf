import fc from 'fast-check'
import { expect, test } from 'vitest'
import { minutes } from '../../../clock.ts'
import type { AlertSubject } from './alert-subjects.ts'
import type { ObservedContainer } from '../../observing/progress/details-store.ts'
import { observedContainer } from '../../observing/testing/observed.ts'
import { evaluateAlerts, emptyState, type Facts, type EvaluationState, type OpenAlert } from './evaluate.ts'
import { thresholdsOf, rulesOf } from './rules.ts'

const conditions = [
  'healthy',
  'crashing',
  'outOfMemory',
  'outOfMemoryAgain',
  'apiDown',
  'full',
  'starting',
  'deploying',
  'hibernated',
  'failed',
  'deleting',
  'deleted',
] as const
type Condition = (typeof conditions)[number]

const program = (change: Partial<ObservedContainer>) => observedContainer({ container: 'api', ...change })

function versionIn(id: number, condition: Condition, nowMs: number): AlertSubject[] {
  if (condition === 'deleted') return []
  const running = condition === 'deploying'
  const failed = condition === 'failed' ? 'UNEXPECTED' : 'NO'
  const status = condition === 'hibernated' ? 'HIBERNATED' : running ? 'DEPLOYING' : 'DEPLOYED'
  const containers = {
    crashing: [program({ state: 'backoff', crashesInARow: 4 })],
    outOfMemory: [program({ isOutOfMemory: true, sinceMs: nowMs })],
    outOfMemoryAgain: [program({ isOutOfMemory: true, sinceMs: nowMs, state: 'backoff', crashesInARow: 1 })],
    starting: [program({ state: 'starting' })],
    hibernated: [],
  }[condition as string]
  const isAvailable = condition !== 'apiDown'
  return [
    {
      id,
      orgId: 1,
      name: `squid-${id}`,
      slot: 'v1',
      isDeleting: condition === 'deleting',
      facts: {
        status,
        image: 'image',
        lastDeploy: { id: 1, type: 'DEPLOY', status: 'OK', failed, running },
        apiReplicas: 1,
        hasuraReplicas: 0,
        hasura: [],
        processors: [],
        database: { usedBytes: condition === 'full' ? 97 : 50, totalBytes: 100 },
        containers: containers ?? [program({})],
        processorMetrics: [],
        apis: [{ squidId: id, container: 'api', isAvailable, sinceMs: nowMs, reason: null }],
      },
    },
  ]
}

const keyOf = ({ kind, squidId, container }: Pick<OpenAlert, 'kind' | 'squidId' | 'container'>) =>
  `${kind} ${squidId} ${container}`
const thresholds = thresholdsOf(rulesOf([]))

/** Applies transitions to an in-memory list of open alerts, and checks each against the earlier conditions. */
class AlertModel {
  open: OpenAlert[] = []
  #ids = 0
  #state: EvaluationState = emptyState
  /** Since when each condition of a version has been true without interruption. */
  readonly #foundSince = new Map<string, number>()
  /** When the cause of each alert was last present. */
  readonly #lastFound = new Map<string, number>()
  #lastRoundMs = -Infinity

  resetState(): void {
    this.#state = emptyState
  }

  runRound(byVersion: readonly Condition[], nowMs: number): void {
    const versions = byVersion.flatMap((condition, id) => versionIn(id, condition, nowMs))
    const facts: Facts = { versions, latencies: new Map(), orgs: [] }
    this.#recordConditions(byVersion, nowMs)
    const { transitions, state } = evaluateAlerts(facts, () => thresholds, {
      open: this.open,
      state: this.#state,
      nowMs,
    })
    for (const transition of transitions) {
      if (transition.type === 'open') {
        const squidId = transition.version?.id ?? null
        const alert = {
          id: ++this.#ids,
          orgId: 1,
          kind: transition.kind,
          squidId,
          container: transition.container,
          ...transition.text,
        }
        if (transition.kind === 'API_DOWN')
          expect(nowMs - (this.#foundSince.get(`apiDown ${squidId}`) ?? nowMs)).toBeGreaterThanOrEqual(minutes(1))
        this.open.push(alert)
      } else if (transition.type === 'end') {
        const ended = this.open.find(({ id }) => id === transition.id)
        if (ended && !transition.isQuiet)
          expect(nowMs - (this.#lastFound.get(keyOf(ended)) ?? -Infinity)).toBeGreaterThanOrEqual(minutes(1))
        this.open = this.open.filter(({ id }) => id !== transition.id)
      } else {
        const before = this.open.find(({ id }) => id === transition.id)
        expect([before?.severity, transition.text.severity]).toEqual(['WARNING', 'CRITICAL'])
        this.open = this.open.map((alert) => (alert.id === transition.id ? { ...alert, ...transition.text } : alert))
      }
    }
    expect(new Set(this.open.map(keyOf)).size).toBe(this.open.length)
    // Evaluating the same facts again changes nothing.
    const again = evaluateAlerts(facts, () => thresholds, { open: this.open, state, nowMs })
    expect(again).toEqual({ transitions: [], state })
    this.#state = state
  }

  #recordConditions(byVersion: readonly Condition[], nowMs: number): void {
    const isGap = nowMs - this.#lastRoundMs > minutes(1)
    this.#lastRoundMs = nowMs
    for (const [id, condition] of byVersion.entries()) {
      for (const other of conditions) if (isGap || condition !== other) this.#foundSince.delete(`${other} ${id}`)
      if (!this.#foundSince.has(`${condition} ${id}`)) this.#foundSince.set(`${condition} ${id}`, nowMs)
      const kind = {
        crashing: 'CRASH_LOOP',
        outOfMemory: 'OUT_OF_MEMORY',
        outOfMemoryAgain: 'OUT_OF_MEMORY',
        apiDown: 'API_DOWN',
        full: 'LOW_SPACE',
      }[condition as string]
      const container = kind === 'LOW_SPACE' ? 'db' : 'api'
      if (kind) this.#lastFound.set(`${kind} ${id} ${container}`, nowMs)
    }
  }
}

test('in any sequence of conditions, each cause has at most one open alert, which does not flap and ends after the cause', () => {
  const step = fc.record({
    byVersion: fc.array(fc.constantFrom(...conditions), { minLength: 2, maxLength: 2 }),
    rounds: fc.integer({ min: 1, max: 12 }),
    everyMs: fc.constantFrom(15_000, 15_000, 30_000, minutes(10)),
    isNewWorker: fc.constantFrom(false, false, false, true),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const model = new AlertModel()
      let nowMs = 1_000_000_000
      for (const { byVersion, rounds, everyMs, isNewWorker } of steps) {
        if (isNewWorker) model.resetState()
        for (let i = 0; i < rounds; i += 1) {
          nowMs += everyMs
          model.runRound(byVersion, nowMs)
        }
      }
      for (let i = 0; i < 50; i += 1) {
        nowMs += 15_000
        model.runRound(['healthy', 'healthy'], nowMs)
      }
      expect(model.open).toEqual([])
    }),
    { numRuns: 300 },
  )
})

test('a persistent problem opens an alert, which stays open during short recoveries and unknown states, and ends with a deployment', () => {
  const model = new AlertModel()
  let nowMs = 0
  const roundsOf = (condition: Condition, times = 1) => {
    for (let i = 0; i < times; i += 1) model.runRound([condition, 'healthy'], (nowMs += 15_000))
    return model.open.map(({ kind, severity }) => `${kind} ${severity}`)
  }
  expect(roundsOf('apiDown', 4)).toEqual([])
  expect(roundsOf('apiDown')).toEqual(['API_DOWN CRITICAL'])
  expect(roundsOf('healthy', 4)).toEqual(['API_DOWN CRITICAL'])
  expect(roundsOf('apiDown')).toEqual(['API_DOWN CRITICAL'])
  expect(roundsOf('healthy', 5)).toEqual([])
  expect(roundsOf('crashing', 2)).toEqual(['CRASH_LOOP CRITICAL'])
  // The state of a starting program is unknown.
  expect(roundsOf('starting', 100)).toEqual(['CRASH_LOOP CRITICAL'])
  expect(roundsOf('healthy', 40)).toEqual(['CRASH_LOOP CRITICAL'])
  expect(roundsOf('healthy')).toEqual([])
  expect(roundsOf('crashing', 2)).toEqual(['CRASH_LOOP CRITICAL'])
  expect(roundsOf('deploying')).toEqual([])
  // The next deployment may fail for another reason: channels are notified again.
  expect(roundsOf('failed')).toEqual(['DEPLOY_FAILED WARNING'])
  expect(roundsOf('deploying')).toEqual([])
  expect(roundsOf('failed')).toEqual(['DEPLOY_FAILED WARNING'])
})
