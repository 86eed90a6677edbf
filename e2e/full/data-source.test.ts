import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRpcCloud, type RpcCloud } from '../support/rpc-cloud.ts'
import { until } from '../support/until.ts'
import { promisedLimitMs } from '../support/tier.ts'

let cloud: RpcCloud
/** A server that accepts connections and never responds. */
let silent: Server

beforeAll(async () => {
  silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  cloud = await startRpcCloud('dependencies', [(silent.address() as AddressInfo).port])
})

afterAll(async () => {
  await cloud?.end()
  silent?.close()
})

test('when a node hangs, the processor is stalled within 60 s and its lag grows; when the node responds again, the processor is synced', async () => {
  await cloud.deployTo('v1')
  await until(async () => (await cloud.processor('v1'))?.status === 'SYNCED', 'the processor is synced')
  const thaw = cloud.devnet.freeze()
  try {
    const stalled = await until(
      async () => {
        const processor = await cloud.processor('v1')
        return processor?.status === 'STALLED' ? processor : null
      },
      'the processor is stalled',
      promisedLimitMs(60_000),
    )
    expect(stalled.lag?.seconds).toBeGreaterThan(30)
  } finally {
    thaw()
  }
  await until(async () => (await cloud.processor('v1'))?.status === 'SYNCED', 'the processor is synced again')
})

test('Shoal does not restart a processor that ends after its last block, but restarts one that ends while its chain grows', async () => {
  const files = ['squid.yaml', 'src/main.ts', 'src/processor.ts']
  const originals = files.map((file) => readFileSync(join(cloud.project, file), 'utf8'))
  cloud.edit('src/processor.ts', (text) =>
    text.replace(
      "from: optionalInteger('START_BLOCK') ?? 0",
      'from: 0, to: process.env.LAST_BLOCK ? Number(process.env.LAST_BLOCK) : undefined',
    ),
  )
  cloud.edit(
    'src/main.ts',
    (text) =>
      `${text.replace('supportHotBlocks: true', 'supportHotBlocks: true, stateSchema: process.env.STATE')}
if (process.env.EXITS_EARLY) setTimeout(() => process.exit(0), 20_000)
`,
  )
  cloud.edit('squid.yaml', (text) =>
    text.replace(
      "  processor:\n    cmd: [sqd, 'process:prod']\n",
      `  processor:
    - { name: bounded, env: { STATE: bounded, LAST_BLOCK: '5' }, cmd: [sqd, 'process:prod'] }
    - { name: early, env: { STATE: early, EXITS_EARLY: 'yes', CONTRACT_ADDRESS: '0x000000000000000000000000000000000000dEaD' }, cmd: [sqd, 'process:prod'] }
`,
    ),
  )
  for (let block = 0; block < 12; block++) await cloud.devnet.chain.transfer(1)
  try {
    await cloud.deployTo('v4')
    const processorOf = async (name: string) =>
      (await cloud.get('v4')).processors?.find((candidate) => candidate.name === name)
    await until(
      async () => (await processorOf('early'))?.reason === 'It ended although its chain continues to grow',
      'the status shows the reason',
    )
    await until(async () => ((await processorOf('early'))?.restarts ?? 0) > 0, 'the processor is restarted')
    // The processor with a last block ended first, and Shoal did not restart it.
    expect(await processorOf('bounded')).toMatchObject({
      status: 'SYNCED',
      reason: 'It has finished its work.',
      restarts: 0,
    })
    const params = { code: cloud.org, reference: 'erc20-transfers@v4' }
    const { logs } = await cloud.api.logs.history({ params, query: { limit: '10000', container: ['bounded'] } })
    expect(logs.filter(({ payload }) => /processing blocks from 0 to 5/.test(JSON.stringify(payload)))).toHaveLength(1)
  } finally {
    for (const [index, file] of files.entries()) cloud.edit(file, () => originals[index] ?? '')
  }
})

test('within three minutes, a data gateway that never responds causes an alert that names the host of the gateway', async () => {
  const { port } = silent.address() as AddressInfo
  cloud.edit('src/processor.ts', (text) =>
    text.replace(
      'new EvmBatchProcessor()',
      `new EvmBatchProcessor().setGateway('http://127.0.0.1:${port}/network/eth')`,
    ),
  )
  await cloud.deployTo('v2')
  const started = await until(async () => (await cloud.processor('v2'))?.since, 'the processor has started')
  const open = async () => await cloud.api.alerts.list({ params: { code: cloud.org }, query: { state: 'open' } })
  const alert = await until(
    async () => (await open()).find(({ squid }) => squid?.slot === 'v2'),
    'the alert is open',
    promisedLimitMs(200_000),
  )
  expect(Date.now() - Date.parse(started)).toBeLessThan(promisedLimitMs(180_000))
  expect(alert).toMatchObject({ kind: 'SOURCE_SILENT', container: 'processor', severity: 'CRITICAL' })
  expect(alert.reason).toContain(`127.0.0.1:${port}`)
  expect(JSON.stringify(alert)).not.toContain('shoal_rpc_')
  const version = await cloud.get('v2')
  expect(version.alerts).toMatchObject([{ label: 'processor does not index', reason: alert.reason }])
  expect(version.processors).toMatchObject([{ status: 'STALLED', reason: alert.reason }])
}, 900_000)

test('a deployment starts each of two processors exactly once', async () => {
  cloud.edit('src/processor.ts', (text) => text.replace(/\.setGateway\('[^']*'\)/, ''))
  cloud.edit('src/main.ts', (text) =>
    text.replace('supportHotBlocks: true', 'supportHotBlocks: true, stateSchema: process.env.STATE'),
  )
  cloud.edit('squid.yaml', (text) =>
    text.replace(
      "  processor:\n    cmd: [sqd, 'process:prod']\n",
      `  processor:
    - { name: one, env: { STATE: one }, cmd: [sqd, 'process:prod'] }
    - { name: two, env: { STATE: two, CONTRACT_ADDRESS: '0x000000000000000000000000000000000000dEaD' }, cmd: [sqd, 'process:prod'] }
`,
    ),
  )
  await cloud.deployTo('v3')
  await until(
    async () => (await cloud.get('v3')).processors?.every(({ status }) => status === 'SYNCED'),
    'both processors are synced',
    120_000,
  )
  const params = { code: cloud.org, reference: 'erc20-transfers@v3' }
  const { logs } = await cloud.api.logs.history({ params, query: { limit: '10000' } })
  const starts = logs.filter(({ payload }) => JSON.stringify(payload).includes('processing blocks from'))
  expect(starts.map(({ container }) => container).toSorted()).toEqual(['one', 'two'])
  expect((await cloud.get('v3')).processors?.map(({ restarts }) => restarts)).toEqual([0, 0])
})
