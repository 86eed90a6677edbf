import { Client } from 'pg'
import { inject } from 'vitest'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type Database } from '../../../db/database.ts'
import { startTestApp, type TestApp } from '../../../testing/index.ts'
import { DatabaseMeter } from './database-usage.ts'

let busyApp: TestApp
let idleApp: TestApp
beforeAll(async () => void ([busyApp, idleApp] = await Promise.all([startTestApp(), startTestApp()])))
afterAll(async () => {
  await busyApp.close()
  await idleApp.close()
})

const nameOf = (database: Database) => new URL(database.url).pathname.slice(1)
const urlOf = (name: string) => inject('postgresUrl').replace('{database}', name)

// The processes of Postgres can be observed only on Linux.
test.skipIf(process.platform !== 'linux')('the usage of a database is the usage of its processes', async () => {
  const names = [nameOf(busyApp.app.database), nameOf(idleApp.app.database)]
  const [busyName = '', idleName = ''] = names
  const cluster = connect(urlOf('postgres'), { max: 1 })
  const client = new Client(urlOf(busyName))
  await client.connect()
  try {
    const meter = new DatabaseMeter(cluster)
    const first = await meter.measure(names)
    // Usage before the first reading is not counted.
    expect(first?.get(busyName)?.cpuSeconds).toBe(0)
    await client.query(`select sum(sqrt(i)) from generate_series(1, 3000000) i`)
    const second = await meter.measure(names)
    expect(second?.get(busyName)?.cpuSeconds).toBeGreaterThan(0.05)
    expect(second?.get(busyName)?.memoryBytes).toBeGreaterThan(100_000)
    expect(second?.get(idleName)?.cpuSeconds).toBeLessThan((second?.get(busyName)?.cpuSeconds ?? 0) / 2)
    // A closed connection does not reduce the count.
    await client.end()
    const third = await meter.measure(names)
    expect(third?.get(busyName)?.cpuSeconds).toBeGreaterThanOrEqual(second?.get(busyName)?.cpuSeconds ?? 1)
  } finally {
    await client.end()
    await cluster.close()
  }
})
