import { expect, test } from 'vitest'
import { FairSlots } from './fair-slots.ts'

/** Starts calls that end only when `end` is called, and counts those in progress, by owner. */
function startCalls(slots: FairSlots) {
  const active = new Map<number, number>()
  const ends = new Map<number, (() => void)[]>()
  const start = (owner: number, calls: number) => {
    for (let i = 0; i < calls; i++)
      void slots.run(owner, async () => {
        active.set(owner, (active.get(owner) ?? 0) + 1)
        const { promise, resolve } = Promise.withResolvers<void>()
        ends.set(owner, [...(ends.get(owner) ?? []), resolve])
        await promise
        active.set(owner, (active.get(owner) ?? 0) - 1)
      })
  }
  const end = (owner: number) => ends.get(owner)?.shift()?.()
  return { active, start, end }
}

const busiest = (active: Map<number, number>) => [...active].toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? 0

const settled = () => new Promise((done) => setImmediate(done))

test('an owner alone has its maximum, and its other calls start when earlier ones end', async () => {
  const calls = startCalls(new FairSlots(256, 16))
  calls.start(1, 20)
  await settled()
  expect(calls.active.get(1)).toBe(16)
  for (let i = 0; i < 10; i++) calls.end(1)
  await settled()
  expect(calls.active.get(1)).toBe(10)
})

test.each([
  { owners: 30, ended: 0 },
  { owners: 200, ended: 256 },
])(
  '$owners owners with calls that take long leave slots for others, after $ended of their calls have ended',
  async ({ owners, ended }) => {
    const calls = startCalls(new FairSlots(256, 16))
    for (let owner = 0; owner < owners; owner++) calls.start(owner, 16)
    await settled()
    for (let i = 0; i < ended; i++) {
      calls.end(busiest(calls.active))
      await settled()
    }
    for (let owner = 1000; owner < 1016; owner++) {
      calls.start(owner, 1)
      await settled()
      expect(calls.active.get(owner)).toBe(1)
    }
  },
)

test('without free slots, the next one goes to the waiting owner with the fewest', async () => {
  const calls = startCalls(new FairSlots(32, 16))
  for (let owner = 0; owner < 40; owner++) calls.start(owner, 16)
  await settled()
  calls.start(1000, 1)
  const total = () => [...calls.active.values()].reduce((sum, count) => sum + count, 0)
  expect(total()).toBe(32)
  // The sixteen owners that had no slot called first.
  for (let i = 0; i < 17; i++) {
    expect(calls.active.get(1000) ?? 0).toBe(0)
    calls.end(busiest(calls.active))
    await settled()
    expect(total()).toBe(32)
  }
  expect(calls.active.get(1000)).toBe(1)
})

test('a caller that has waited for too long, or that finds too many others waiting, gets no slot', async () => {
  const slots = new FairSlots<string>(1, 1)
  const release = await slots.acquire('a')
  const waiting = slots.acquire('a', { maxWaiting: 1 })
  expect(await slots.acquire('a', { maxWaiting: 1 })).toBe(null)
  expect(await slots.acquire('b', { maxWaitMs: 1 })).toBe(null)
  release?.()
  const next = await waiting
  expect(next).not.toBe(null)
  next?.()
  expect(await slots.acquire('b', { maxWaitMs: 1 })).not.toBe(null)
})

test('without a maximum per owner, a free slot goes to the owner with the fewest, and never to an aborted caller', async () => {
  const slots = new FairSlots<string>(2, null)
  const order: string[] = []
  const releases = [await slots.acquire('a'), await slots.acquire('a')]
  const call = (owner: string, name: string, signal?: AbortSignal) =>
    slots.acquire(owner, {}, signal).then((release) => (order.push(name), releases.push(release)))
  const cancel = new AbortController()
  const calls = [call('a', 'a3'), call('a', 'a4'), call('c', 'c1', cancel.signal).catch(() => order.push('aborted'))]
  calls.push(call('b', 'b1'), call('b', 'b2'))
  cancel.abort(new Error('cancelled'))
  await calls[2]
  expect(slots.isFull).toBe(true)
  for (let i = 0; i < 6; i++) {
    releases.shift()?.()
    await new Promise((done) => setImmediate(done))
  }
  await Promise.all(calls)
  expect(order).toEqual(['aborted', 'b1', 'a3', 'b2', 'a4'])
  expect(slots.isFull).toBe(false)
})
