import fc from 'fast-check'
import { expect, test } from 'vitest'
import { minutes } from '../../../clock.ts'
import type { AlertSubject } from './alert-subjects.ts'
import type { ObservedContainer } from '../../observing/progress/parts-store.ts'
import { observedContainer } from '../../observing/testing/observed.ts'
import { evaluateAlerts, emptyState, type Facts, type EvaluationState, type OpenAlert } from './evaluate.ts'
import { limitsOf, rulesOf } from './rules.ts'

const conditions = [
  'well',
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
  'gone',
] as const
type Condition = (typeof conditions)[number]

const program = (change: Partial<ObservedContainer>) => observedContainer({ container: 'api', ...change })

function versionIn(id: number, condition: Condition, nowMs: number): AlertSubject[] {
  if (condition === 'gone') return []
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
      subject: {
        status,
        image: 'image',
        lastDeploy: { id: 1, type: 'DEPLOY', status: 'OK', failed, running },
        apiReplicas: 1,
        processors: [],
        database: { usedBytes: condition === 'full' ? 97 : 50, totalBytes: 100 },
        containers: containers ?? [program({})],
        seen: [],
        apis: [{ squidId: id, container: 'api', isAvailable, sinceMs: nowMs, reason: null }],
      },
    },
  ]
}

const keyOf = ({ kind, squidId, container }: Pick<OpenAlert, 'kind' | 'squidId' | 'container'>) =>
  `${kind} ${squidId} ${container}`
const limits = limitsOf(rulesOf([]))

/** Applies what is decided, as the database would, and checks each decision by what was seen before it. */
class World {
  open: OpenAlert[] = []
  #ids = 0
  #memory: EvaluationState = emptyState
  /** Since when something has been seen without a gap, and when it was last seen. */
  readonly #foundSince = new Map<string, number>()
  readonly #lastFound = new Map<string, number>()
  #lastLookMs = -Infinity

  forget(): void {
    this.#memory = emptyState
  }

  look(byVersion: readonly Condition[], nowMs: number): void {
    const versions = byVersion.flatMap((condition, id) => versionIn(id, condition, nowMs))
    const facts: Facts = { versions, latencies: new Map(), orgs: [] }
    this.#note(byVersion, nowMs)
    const { transitions, memory } = evaluateAlerts(facts, () => limits, this.open, this.#memory, nowMs)
    for (const one of transitions) {
      if (one.type === 'open') {
        const squidId = one.version?.id ?? null
        const alert = { id: ++this.#ids, orgId: 1, kind: one.kind, squidId, container: one.container, ...one.text }
        if (one.kind === 'API_DOWN')
          expect(nowMs - (this.#foundSince.get(`apiDown ${squidId}`) ?? nowMs)).toBeGreaterThanOrEqual(minutes(1))
        this.open.push(alert)
      } else if (one.type === 'end') {
        const ended = this.open.find(({ id }) => id === one.id)
        if (ended && !one.isQuiet)
          expect(nowMs - (this.#lastFound.get(keyOf(ended)) ?? -Infinity)).toBeGreaterThanOrEqual(minutes(1))
        this.open = this.open.filter(({ id }) => id !== one.id)
      } else {
        const before = this.open.find(({ id }) => id === one.id)
        expect([before?.severity, one.text.severity]).toEqual(['WARNING', 'CRITICAL'])
        this.open = this.open.map((alert) => (alert.id === one.id ? { ...alert, ...one.text } : alert))
      }
    }
    expect(new Set(this.open.map(keyOf)).size).toBe(this.open.length)
    // Nothing more follows from the same facts.
    const again = evaluateAlerts(facts, () => limits, this.open, memory, nowMs)
    expect(again).toEqual({ transitions: [], memory })
    this.#memory = memory
  }

  #note(byVersion: readonly Condition[], nowMs: number): void {
    const isGap = nowMs - this.#lastLookMs > minutes(1)
    this.#lastLookMs = nowMs
    for (const [id, condition] of byVersion.entries()) {
      for (const known of conditions) if (isGap || condition !== known) this.#foundSince.delete(`${known} ${id}`)
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

test('whatever happens, of one cause one alert is open, it does not flap, and it ends when all is well', () => {
  const step = fc.record({
    byVersion: fc.array(fc.constantFrom(...conditions), { minLength: 2, maxLength: 2 }),
    looks: fc.integer({ min: 1, max: 12 }),
    everyMs: fc.constantFrom(15_000, 15_000, 30_000, minutes(10)),
    isNewWorker: fc.constantFrom(false, false, false, true),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const world = new World()
      let nowMs = 1_000_000_000
      for (const { byVersion, looks, everyMs, isNewWorker } of steps) {
        if (isNewWorker) world.forget()
        for (let i = 0; i < looks; i += 1) {
          nowMs += everyMs
          world.look(byVersion, nowMs)
        }
      }
      for (let i = 0; i < 50; i += 1) {
        nowMs += 15_000
        world.look(['well', 'well'], nowMs)
      }
      expect(world.open).toEqual([])
    }),
    { numRuns: 300 },
  )
})

test('a problem that lasts long enough opens an alert, also when single rounds are missed or a program is gone for a moment', () => {
  const world = new World()
  let nowMs = 0
  const look = (condition: Condition, times = 1) => {
    for (let i = 0; i < times; i += 1) world.look([condition, 'well'], (nowMs += 15_000))
    return world.open.map(({ kind, severity }) => `${kind} ${severity}`)
  }
  expect(look('apiDown', 4)).toEqual([])
  expect(look('apiDown')).toEqual(['API_DOWN CRITICAL'])
  expect(look('well', 4)).toEqual(['API_DOWN CRITICAL'])
  expect(look('apiDown')).toEqual(['API_DOWN CRITICAL'])
  expect(look('well', 5)).toEqual([])
  expect(look('crashing', 2)).toEqual(['CRASH_LOOP CRITICAL'])
  // While it is being started nothing is known of it.
  expect(look('starting', 100)).toEqual(['CRASH_LOOP CRITICAL'])
  expect(look('well', 40)).toEqual(['CRASH_LOOP CRITICAL'])
  expect(look('well')).toEqual([])
  expect(look('crashing', 2)).toEqual(['CRASH_LOOP CRITICAL'])
  expect(look('deploying')).toEqual([])
  // The next deployment may fail for another reason: channels are notified again.
  expect(look('failed')).toEqual(['DEPLOY_FAILED WARNING'])
  expect(look('deploying')).toEqual([])
  expect(look('failed')).toEqual(['DEPLOY_FAILED WARNING'])
})
