import { expect, test } from 'vitest'
import { queueDraw } from './draw-queue.ts'

const nextTask = () => new Promise((done) => setTimeout(done))

test('the first chart is drawn before the next task, and each of the others in its own task', async () => {
  const drawn: string[] = []
  for (const chart of ['first', 'second', 'third']) queueDraw(() => drawn.push(chart))
  expect(drawn).toEqual([])
  await Promise.resolve()
  expect(drawn).toEqual(['first'])
  await nextTask()
  expect(drawn).toEqual(['first', 'second'])
  await nextTask()
  expect(drawn).toEqual(['first', 'second', 'third'])
})

test('a cancelled chart is not drawn', async () => {
  const drawn: string[] = []
  const cancel = queueDraw(() => drawn.push('cancelled'))
  queueDraw(() => drawn.push('other'))
  cancel()
  await nextTask()
  expect(drawn).toEqual(['other'])
})
