import { expect, test } from 'vitest'
import { Semaphore, KeyedMutex } from './semaphore.ts'

const never = new AbortController().signal

test('places are given in the order of asking, and one who gave up is passed over', async () => {
  const semaphore = new Semaphore(1)
  const order: string[] = []
  const giveBack = await semaphore.take(never)
  const second = semaphore.take(never).then((free) => (order.push('second'), free))
  const impatient = new AbortController()
  const gaveUp = semaphore.take(impatient.signal).catch((error: unknown) => error)
  const fourth = semaphore.take(never).then((free) => (order.push('fourth'), free))
  impatient.abort(new Error('cancelled'))
  expect(await gaveUp).toMatchObject({ message: 'cancelled' })
  expect(semaphore.areAllTaken).toBe(true)
  giveBack()
  ;(await second)()
  ;(await fourth)()
  expect(order).toEqual(['second', 'fourth'])
  expect(semaphore.areAllTaken).toBe(false)
})

test('turns: one at a time for a key, others beside it, also after a failure', async () => {
  const turns = new KeyedMutex()
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const log: string[] = []
  const first = turns.run('a', never, async () => {
    log.push('first begins')
    await held
    log.push('first ends')
    throw new Error('failed')
  })
  const second = turns.run('a', never, async () => log.push('second'))
  await turns.run('b', never, async () => log.push('beside'))
  release()
  await expect(first).rejects.toThrow('failed')
  await second
  expect(log).toEqual(['first begins', 'beside', 'first ends', 'second'])
})
