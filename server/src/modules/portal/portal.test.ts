import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../config/config.ts'
import { startTestApp, type TestApp } from '../../testing/index.ts'
import { datasetsOf } from './catalogue.ts'

let t: TestApp
beforeAll(async () => {
  t = await startTestApp({
    env: { SHOAL_DEVNET_URL: 'http://127.0.0.1:8545', SHOAL_PORTAL_URL: 'https://portal.example.com' },
  })
})
afterAll(() => t?.close())

test('the catalogue lists the networks of the Portal, and the devnet', async () => {
  const { admin, code } = await t.make.org()
  const datasets = await t.as(admin).portal.listDatasets({ params: { code } })
  expect(datasets.length).toBeGreaterThan(148)
  expect(datasets.find((d) => d.id === 'ethereum-mainnet')).toEqual({
    id: 'ethereum-mainnet',
    title: 'Ethereum',
    iconUrl: '/api/v1/icons/Ethereum',
    type: 'evm',
    testnet: false,
  })
  expect(datasets.find((d) => d.id === 'solana-devnet')).toMatchObject({ type: 'solana', testnet: true })
  expect(datasets.find((d) => d.id === 'devnet')).toMatchObject({ type: 'evm', testnet: true })
  expect(new Set(datasets.map((d) => d.id)).size).toBe(datasets.length)
  const outsider = await t.make.user()
  await expect(t.as(outsider).portal.listDatasets({ params: { code } })).rejects.toMatchObject({ status: 404 })
})

test('a dataset is returned with its URL and source', async () => {
  const { admin, code } = await t.make.org()
  const get = (id: string) => t.as(admin).portal.getDataset({ params: { code, id } })
  expect(await get('ethereum-mainnet')).toMatchObject({
    url: 'http://localhost:4001/portal/datasets/ethereum-mainnet',
    source: 'portal',
    chain: 'eth',
  })
  expect(await get('devnet')).toMatchObject({ source: 'rpc', chain: 'devnet' })
  expect(await get('polkadot')).toMatchObject({ source: 'portal', chain: 'polkadot' })
  await expect(get('nowhere')).rejects.toMatchObject({ status: 404 })
})

test('SHOAL_PORTAL_CATALOGUE replaces the catalogue', async () => {
  const file = join(tmpdir(), `catalogue-${process.pid}.yml`)
  writeFileSync(
    file,
    'datasets:\n  new-net:\n    metadata: { kind: evm, display_name: New Net, type: mainnet, evm: { chain_id: 1 } }\n',
  )
  const config = loadConfig({ SHOAL_PORTAL_CATALOGUE: file })
  expect(datasetsOf({ config }).find('new-net')).toMatchObject({ title: 'New Net', chain: { id: 'eth' } })
  expect(datasetsOf({ config }).find('ethereum-mainnet')).toBeNull()
  writeFileSync(file, 'datasets: 5\n')
  expect(() => datasetsOf({ config: loadConfig({ SHOAL_PORTAL_CATALOGUE: file }) })).toThrow(
    /is not a catalogue of datasets/,
  )
})
