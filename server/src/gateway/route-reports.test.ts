import { afterEach, beforeEach, expect, test } from 'vitest'
import { gatewaysBehind } from '../modules/deployments/gateways-store.ts'
import { until } from '../testing/until.ts'
import { RouteReports } from './route-reports.ts'
import { openGatewayTestbed, type GatewayTestbed } from './testing/testbed.ts'

let bed: GatewayTestbed
beforeEach(async () => void (bed = await openGatewayTestbed()))
afterEach(() => bed.close())

/** Ids of the live gateways that do not route to this generation yet. */
const idsBehind = (squidId: number, generation: number) =>
  gatewaysBehind(bed.t.app.db, { squidId, generation, aliveWithinMs: 15_000 })
const count = async (table: string) => (await bed.t.app.database.pool.query(`select 1 from ${table}`)).rowCount

test('every gateway reports generation changes, and a gateway that starts later reports all generations', async () => {
  const squid = await bed.createVersion()
  await until(async () => expect(await idsBehind(squid.id, 1)).toEqual([]))
  await bed.startAnother()
  expect(await count('gateways')).toBe(2)
  await until(async () => expect(await idsBehind(squid.id, 1)).toEqual([]))
  expect(await idsBehind(squid.id, 2)).toHaveLength(2)
  await bed.updateVersion(squid, { generation: 2 })
  await until(async () => expect(await idsBehind(squid.id, 2)).toEqual([]))
})

test('a gateway writes only changes, and deletes its rows when it shuts down gracefully', async () => {
  const writes: number[] = []
  const { app } = bed.t
  const countingDb = new Proxy(app.db, {
    get: (target, key) => {
      if (key === 'execute') writes.push(1)
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const reports = new RouteReports({ ...app, db: countingDb })
  for (let id = 1; id <= 10_000; id++) reports.report(id, 1)
  await reports.beat()
  await until(async () => expect(await count('gateway_routes')).toBe(10_000))
  writes.length = 0
  for (let id = 1; id <= 10_000; id++) reports.report(id, id === 5 ? 2 : 1)
  await until(async () => expect(await idsBehind(5, 2)).not.toContain(reports.id))
  expect(writes).toHaveLength(1)
  await reports.close()
  expect(await count('gateway_routes')).toBe(0)
})

test('a gateway that cannot write its heartbeat is not ready', async () => {
  const reports = new RouteReports(bed.t.app, { heartbeatMs: 20, staleMs: 200 })
  await reports.beat()
  expect(reports.problem()).toBeNull()
  await bed.t.app.database.pool.query('alter table gateways rename to unavailable_gateways')
  await until(() => expect(reports.problem()).toBe('cannot write its heartbeat'))
  await bed.t.app.database.pool.query('alter table unavailable_gateways rename to gateways')
  await until(() => expect(reports.problem()).toBeNull())
  await reports.close()
})
