import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../testing/until.ts'
import { cloneDatabase } from '../testing/test-database.ts'
import type { Database } from './database.ts'
import { startLeading } from './leader.ts'
import { notificationsOf } from './notifications.ts'
import { pino } from 'pino'

let database: Database
beforeAll(async () => void (database = await cloneDatabase()))
afterAll(() => database.close())

const notify = (channel: string, payload: string) => database.pool.query('select pg_notify($1, $2)', [channel, payload])
const breakAll = (name: string) =>
  database.pool.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and datname = current_database()',
    [name],
  )

test('listeners hear their channel, also after the connection broke', async () => {
  const heard: string[] = []
  let times = 0
  const notifications = notificationsOf(database)
  const stop = [
    notifications.listen('one', { heard: (payload) => heard.push(`one ${payload}`), listening: () => times++ }),
    notifications.listen('one', { heard: (payload) => heard.push(`again ${payload}`) }),
    notifications.listen('two', { heard: (payload) => heard.push(`two ${payload}`), listening: () => times++ }),
  ]
  await until(() => expect(times).toBe(2))
  await notify('one', 'a')
  await notify('two', 'b')
  await until(() => expect(heard).toEqual(['one a', 'again a', 'two b']))
  await breakAll('shoal-listen')
  await until(() => expect(times).toBe(4))
  stop[1]?.()
  await notify('one', 'c')
  await until(() => expect(heard.slice(3)).toEqual(['one c']))
  for (const end of stop) end()
  await until(async () => expect((await breakAll('shoal-listen')).rowCount).toBe(0))
})

test('one leads at a time, and another when it dies', async () => {
  const log = pino({ level: 'silent' })
  const leading = new Set<string>()
  let terms = 0
  let mostAtOnce = 0
  const lead = (name: string) =>
    startLeading(database, log, 'test', async (_, signal) => {
      leading.add(name)
      terms++
      mostAtOnce = Math.max(mostAtOnce, leading.size)
      await new Promise((done) => signal.addEventListener('abort', done))
      leading.delete(name)
    })
  const all = ['a', 'b', 'c'].map(lead)
  try {
    await until(() => expect(leading.size).toBe(1))
    for (let i = 2; i < 5; i++) {
      await breakAll('shoal-test')
      await until(() => expect(terms).toBe(i))
    }
    await all[0]?.close()
    await until(() => expect([...leading]).toEqual([expect.stringMatching(/[bc]/)]))
    expect(mostAtOnce).toBe(1)
  } finally {
    await Promise.all(all.map((one) => one.close()))
  }
  expect(leading.size).toBe(0)
})
