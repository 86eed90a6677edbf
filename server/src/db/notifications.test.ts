import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../testing/until.ts'
import { cloneDatabase } from '../testing/test-database.ts'
import type { Database } from './database.ts'
import { notificationsOf } from './notifications.ts'

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
    notifications.listen('one', { onMessage: (payload) => heard.push(`one ${payload}`), onListening: () => times++ }),
    notifications.listen('one', { onMessage: (payload) => heard.push(`again ${payload}`) }),
    notifications.listen('two', { onMessage: (payload) => heard.push(`two ${payload}`), onListening: () => times++ }),
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
