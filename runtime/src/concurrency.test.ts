import { expect, test } from 'vitest'
import { ConcurrencyLimit, KeyedMutex, mapConcurrently, Semaphore, SharedRun } from './concurrency.ts'

const notAborted = new AbortController().signal

test('a semaphore admits callers in order and skips aborted ones', async () => {
  const semaphore = new Semaphore(1)
  const order: string[] = []
  const release = await semaphore.acquire(notAborted)
  const second = semaphore.acquire(notAborted).then((free) => (order.push('second'), free))
  const cancel = new AbortController()
  const third = semaphore.acquire(cancel.signal).catch((error: unknown) => error)
  const fourth = semaphore.acquire(notAborted).then((free) => (order.push('fourth'), free))
  cancel.abort(new Error('cancelled'))
  expect(await third).toMatchObject({ message: 'cancelled' })
  expect(semaphore.isFull).toBe(true)
  release()
  ;(await second)()
  ;(await fourth)()
  expect(order).toEqual(['second', 'fourth'])
  expect(semaphore.isFull).toBe(false)
})

test('a keyed mutex runs one task per key, others concurrently, and continues after a failure', async () => {
  const mutex = new KeyedMutex()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const log: string[] = []
  const first = mutex.run('a', async () => {
    log.push('first starts')
    await released
    log.push('first ends')
    throw new Error('failed')
  })
  const second = mutex.run('a', async () => log.push('second'))
  await mutex.run('b', async () => log.push('other key'))
  release()
  await expect(first).rejects.toThrow('failed')
  await second
  expect(log).toEqual(['first starts', 'other key', 'first ends', 'second'])
})

test('mapConcurrently bounds concurrent calls and keeps the order of the items', async () => {
  let running = 0
  let maxRunning = 0
  const double = async (n: number) => {
    running += 1
    maxRunning = Math.max(maxRunning, running)
    await new Promise((done) => setTimeout(done, n))
    running -= 1
    return 2 * n
  }
  expect(await mapConcurrently([5, 1, 3, 2, 4], 2, double)).toEqual([10, 2, 6, 4, 8])
  expect(maxRunning).toBe(2)
})

test('mapConcurrently rejects with the first failure when all calls have ended, and begins no more calls', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const log: string[] = []
  const works = {
    slow: () => released,
    fails: () => Promise.reject(new Error('first')),
    'fails later': () => released.then(() => Promise.reject(new Error('second'))),
    waits: async () => undefined,
  }
  const names = ['slow', 'fails later', 'fails', 'waits'] as const
  const mapped = mapConcurrently(names, 3, async (name) => {
    log.push(`${name} begins`)
    await works[name]().finally(() => log.push(`${name} ends`))
  }).catch((error: unknown) => (log.push('rejects'), error))
  await expect.poll(() => log).toContain('fails ends')
  release()
  expect(await mapped).toMatchObject({ message: 'first' })
  expect(log.slice(0, 4)).toEqual(['slow begins', 'fails later begins', 'fails begins', 'fails ends'])
  expect(log.slice(4, -1).sort()).toEqual(['fails later ends', 'slow ends'])
  expect(log.at(-1)).toBe('rejects')
})

test('callers that wait for a run share the next one, which begins after their calls', async () => {
  const runs: PromiseWithResolvers<void>[] = []
  const shared = new SharedRun(() => {
    const run = Promise.withResolvers<void>()
    runs.push(run)
    return run.promise
  })
  const first = shared.run()
  const waiting = [shared.run(), shared.run(), shared.run()]
  expect(runs.length).toBe(1)
  runs[0]?.resolve()
  await first
  await expect.poll(() => runs.length).toBe(2)
  const last = shared.run()
  runs[1]?.resolve()
  await Promise.all(waiting)
  await expect.poll(() => runs.length).toBe(3)
  runs[2]?.resolve()
  await last
  const afterwards = shared.run()
  expect(runs.length).toBe(4)
  runs[3]?.resolve()
  await afterwards
})

test('a run that fails rejects only for its own callers', async () => {
  let runs = 0
  const shared = new SharedRun(async () => {
    runs++
    if (runs === 1) throw new Error('first')
  })
  const [first, second] = await Promise.allSettled([shared.run(), shared.run()])
  expect([first.status, second.status]).toEqual(['rejected', 'fulfilled'])
  expect(runs).toBe(2)
})

test('a limit admits no more tasks than its maximums, and each end counts once', () => {
  const limit = new ConcurrencyLimit(2, 3)
  const end = limit.admit('a')
  expect(limit.admit('a')).not.toBe(null)
  expect(limit.admit('a')).toBe(null)
  expect(limit.admit('b')).not.toBe(null)
  expect(limit.admit('c')).toBe(null)
  end?.()
  end?.()
  expect(limit.admit('c')).not.toBe(null)
  expect(limit.admit('a')).toBe(null)
})
