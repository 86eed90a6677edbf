import { afterAll, beforeAll, expect, test } from 'vitest'
import { hours } from '../../clock.ts'
import { startTestApp, type TestApp } from '../../testing/index.ts'
import { startScenario } from './testing/scenario.ts'

/** An installation whose operator provides a program for the addon `hasura`. */
let t: TestApp
beforeAll(async () => void (t = await startTestApp({ env: { SHOAL_HASURA_PROGRAM: '/opt/graphql-engine' } })))
afterAll(() => t.close())

test('each instance of Hasura in a dedicated version is metered with its profile; a collocated version has one price', async () => {
  const { addVersion, advance, runRound } = startScenario(t)
  const org = await t.make.org()
  await runRound()
  const id = await addVersion(org, { name: 'big', isDedicated: true, containers: ['hasura', 'hasura-2', 'evm'] })
  await t.app.database.pool.query("update squids set hasura_profile = 'medium', hasura_replicas = 2 where id = $1", [
    id,
  ])
  await addVersion(org, { name: 'small', containers: ['hasura', 'evm'] })
  await advance(hours(2))
  const params = { code: org.code, year: '2026', month: '01' }
  const receipt = await t.as(org.admin).billing.getReceipt({ params, query: { bySquid: 'true' } })
  expect(receipt.items.map((i) => [i.squid?.name, i.type, i.amount, i.rate, i.subtotal])).toEqual([
    ['big@v1', 'hasura.medium', '4', '0.08', '0.32'],
    ['big@v1', 'processor.small', '2', '0.04', '0.08'],
    ['small@v1', 'collocated', '2', '0.02', '0.04'],
  ])
})

test('the price list and estimates contain Hasura', async () => {
  const org = await t.make.org()
  const manifest = JSON.stringify({
    manifest_version: 'subsquid.io/v0.1',
    name: 'priced',
    deploy: { addons: { hasura: {} }, processor: { cmd: ['x'] } },
    scale: { dedicated: true, addons: { hasura: { profile: 'large', replicas: 3 } } },
  })
  const estimate = await t.as(org.admin).billing.estimate({ params: { code: org.code }, body: { manifest } })
  expect(estimate.items.map((i) => [i.type, i.count, i.perHourUsd])).toEqual([
    ['processor.small', '1', '0.04'],
    ['hasura.large', '3', '0.45'],
  ])
  const [list] = await t.as(org.admin).billing.getPrices()
  expect(list?.rates.filter(({ type }) => type.startsWith('hasura.')).map(({ type }) => type)).toContain('hasura.small')
})
