import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../testing/until.ts'
import { cloneDatabase } from '../testing/test-database.ts'
import type { Database } from './database.ts'
import { notificationsOf } from './notifications.ts'

let database: Database
beforeAll(async () => void (database = await cloneDatabase()))
afterAll(() => database.close())

const notify = (channel: string, payload: string) => database.pool.query('select pg_notify($1, $2)', [channel, payload])
const breakConnections = (name: string) =>
  database.pool.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and datname = current_database()',
    [name],
  )

test('listeners receive the messages of their channel, even after a broken connection', async () => {
  const received: string[] = []
  let listenCalls = 0
  const notifications = notificationsOf(database)
  const stopFunctions = [
    notifications.listen('one', {
      onMessage: (payload) => received.push(`one ${payload}`),
      onListening: () => listenCalls++,
    }),
    notifications.listen('one', { onMessage: (payload) => received.push(`again ${payload}`) }),
    notifications.listen('two', {
      onMessage: (payload) => received.push(`two ${payload}`),
      onListening: () => listenCalls++,
    }),
  ]
  await until(() => expect(listenCalls).toBe(2))
  await notify('one', 'a')
  await notify('two', 'b')
  await until(() => expect(received).toEqual(['one a', 'again a', 'two b']))
  await breakConnections('shoal-listen')
  await until(() => expect(listenCalls).toBe(4))
  stopFunctions[1]?.()
  await notify('one', 'c')
  await until(() => expect(received.slice(3)).toEqual(['one c']))
  for (const stopListening of stopFunctions) stopListening()
  await until(async () => expect((await breakConnections('shoal-listen')).rowCount).toBe(0))
})
