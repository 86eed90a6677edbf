import { afterEach, beforeEach, expect, test } from 'vitest'
import { gatewaysBehind } from '../modules/deployments/gateways-store.ts'
import { until } from '../testing/until.ts'
import { RouteReports } from './route-reports.ts'
import { openGatewayBed, type GatewayBed } from './testing/testbed.ts'

let bed: GatewayBed
beforeEach(async () => void (bed = await openGatewayBed()))
afterEach(() => bed.close())

const behind = (squidId: number, generation: number) =>
  gatewaysBehind(bed.t.app.db, { squidId, generation, aliveWithinMs: 15_000 })
const count = async (table: string) => (await bed.t.app.database.pool.query(`select 1 from ${table}`)).rowCount

test('every gateway reports changes of generations, and one that starts later reports all', async () => {
  const squid = await bed.version()
  await until(async () => expect(await behind(squid.id, 1)).toEqual([]))
  await bed.another()
  expect(await count('gateways')).toBe(2)
  await until(async () => expect(await behind(squid.id, 1)).toEqual([]))
  expect(await behind(squid.id, 2)).toHaveLength(2)
  await bed.change(squid, { generation: 2 })
  await until(async () => expect(await behind(squid.id, 2)).toEqual([]))
})

test('only changes are written, and an orderly stop deletes all rows of a gateway', async () => {
  const written: number[] = []
  const { db, log } = bed.t.app
  const counting = new Proxy(db, {
    get: (target, key) => {
      if (key === 'execute') written.push(1)
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const reports = new RouteReports({ db: counting, log })
  for (let id = 1; id <= 10_000; id++) reports.report(id, 1)
  await reports.beat()
  await until(async () => expect(await count('gateway_routes')).toBe(10_000))
  written.length = 0
  for (let id = 1; id <= 10_000; id++) reports.report(id, id === 5 ? 2 : 1)
  await until(async () => expect(await behind(5, 2)).not.toContain(reports.id))
  expect(written).toHaveLength(1)
  await reports.close()
  expect(await count('gateway_routes')).toBe(0)
})

test('a gateway that cannot write its heartbeat is not ready', async () => {
  const { db, log } = bed.t.app
  const reports = new RouteReports({ db, log }, { beatMs: 20, staleMs: 200 })
  await reports.beat()
  expect(reports.problem()).toBeNull()
  await bed.t.app.database.pool.query('alter table gateways rename to away')
  await until(() => expect(reports.problem()).toBe('cannot write its heartbeat'))
  await bed.t.app.database.pool.query('alter table away rename to gateways')
  await until(() => expect(reports.problem()).toBeNull())
  await reports.close()
})
