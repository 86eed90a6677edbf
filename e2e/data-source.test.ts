import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDay, type Day } from './support/day.ts'
import { deploy, ended } from './support/deploy.ts'
import { freePort } from './support/shoal.ts'
import { until } from './support/until.ts'

/** The network in the manifest, served by anvil. */
const chain = 'eth-sepolia'
let day: Day
let folder: string
/** Accepts connections and never responds. */
let silent: Server

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'shoal-source-'))
  const config = join(folder, 'rpc.json')
  const devnetPort = await freePort()
  const upstreams = [{ name: 'anvil', url: `http://127.0.0.1:${devnetPort}`, archive: true }]
  writeFileSync(config, JSON.stringify({ chains: { [chain]: { chainId: 31_337, upstreams } } }))
  silent = createServer().listen(0, '127.0.0.1')
  day = await startDay({ env: { SHOAL_RPC_CONFIG: config }, devnetPort, prebuilt: 'dependencies' })
  edit('squid.yaml', (text) =>
    text
      .replace('RPC_URL: ${{ secrets.RPC_URL }}', `RPC_URL: \${{ addons.rpc.${chain}.http }}`)
      .replace('    postgres:\n', `    postgres:\n    rpc: [${chain}.http]\n`),
  )
}, 180_000)

afterAll(async () => {
  await day?.end()
  silent?.close()
  if (folder) rmSync(folder, { recursive: true, force: true })
})

function edit(file: string, change: (text: string) => string): void {
  const path = join(day.project, file)
  writeFileSync(path, change(readFileSync(path, 'utf8')))
}

const get = (slot: string) => day.api.squids.get({ params: { code: day.org, reference: `erc20-transfers@${slot}` } })
const processor = async (slot: string) => (await get(slot)).processors?.[0]
const deployed = async (slot: string) =>
  expect((await ended(day, await deploy(day, { slot }))).failureReason).toBeNull()

test('a node that hangs shows as Stalled and as lag within 60 s, and the processor is synced again afterwards', async () => {
  await deployed('v1')
  await until(async () => (await processor('v1'))?.status === 'SYNCED', 'it is synced')
  const thaw = day.devnet.freeze()
  const frozenMs = performance.now()
  try {
    const stalled = await until(async () => {
      const now = await processor('v1')
      return now?.status === 'STALLED' ? now : null
    }, 'it is stalled')
    expect(performance.now() - frozenMs).toBeLessThan(60_000)
    expect(stalled.lag?.seconds).toBeGreaterThan(30)
  } finally {
    thaw()
  }
  await until(async () => (await processor('v1'))?.status === 'SYNCED', 'it is synced again')
}, 300_000)

test('a processor that has reached its last block has finished; one that exits earlier is restarted', async () => {
  const files = ['squid.yaml', 'src/main.ts', 'src/processor.ts']
  const before = files.map((file) => readFileSync(join(day.project, file), 'utf8'))
  edit('src/processor.ts', (text) =>
    text.replace(
      "from: optionalInteger('START_BLOCK') ?? 0",
      'from: 0, to: process.env.LAST_BLOCK ? Number(process.env.LAST_BLOCK) : undefined',
    ),
  )
  edit(
    'src/main.ts',
    (text) =>
      `${text.replace('supportHotBlocks: true', 'supportHotBlocks: true, stateSchema: process.env.STATE')}
if (process.env.LEAVES) setTimeout(() => process.exit(0), 20_000)
`,
  )
  edit('squid.yaml', (text) =>
    text.replace(
      "  processor:\n    cmd: [sqd, 'process:prod']\n",
      `  processor:
    - { name: bounded, env: { STATE: bounded, LAST_BLOCK: '5' }, cmd: [sqd, 'process:prod'] }
    - { name: leaves, env: { STATE: leaves, LEAVES: 'yes', CONTRACT_ADDRESS: '0x000000000000000000000000000000000000dEaD' }, cmd: [sqd, 'process:prod'] }
`,
    ),
  )
  for (let block = 0; block < 12; block++) await day.devnet.chain.transfer(1)
  try {
    await deployed('v4')
    const named = async (name: string) => (await get('v4')).processors?.find((candidate) => candidate.name === name)
    await until(
      async () => (await named('leaves'))?.reason === 'It ended although its chain goes on',
      'the reason is shown',
    )
    await until(async () => ((await named('leaves'))?.restarts ?? 0) > 0, 'it is restarted')
    // It ended before the other one, and was not restarted.
    expect(await named('bounded')).toMatchObject({
      status: 'SYNCED',
      reason: 'It has finished its work.',
      restarts: 0,
    })
    const params = { code: day.org, reference: 'erc20-transfers@v4' }
    const { logs } = await day.api.logs.history({ params, query: { limit: '10000', container: ['bounded'] } })
    expect(logs.filter(({ payload }) => /processing blocks from 0 to 5/.test(JSON.stringify(payload)))).toHaveLength(1)
  } finally {
    for (const [index, file] of files.entries()) edit(file, () => before[index] ?? '')
  }
}, 360_000)

test('a data gateway that never responds opens an alert within three minutes, which names its host', async () => {
  const { port } = silent.address() as AddressInfo
  edit('src/processor.ts', (text) =>
    text.replace(
      'new EvmBatchProcessor()',
      `new EvmBatchProcessor().setGateway('http://127.0.0.1:${port}/network/eth')`,
    ),
  )
  await deployed('v2')
  const started = await until(async () => (await processor('v2'))?.since, 'the processor has started')
  const open = async () => await day.api.alerts.list({ params: { code: day.org }, query: { state: 'open' } })
  const alert = await until(
    async () => (await open()).find(({ squid }) => squid?.slot === 'v2'),
    'the alert is open',
    200_000,
  )
  expect(Date.now() - Date.parse(started)).toBeLessThan(180_000)
  expect(alert).toMatchObject({ kind: 'SOURCE_SILENT', container: 'processor', severity: 'CRITICAL' })
  expect(alert.reason).toContain(`127.0.0.1:${port}`)
  expect(JSON.stringify(alert)).not.toContain('shoal_rpc_')
  const shown = await get('v2')
  expect(shown.alerts).toMatchObject([{ label: 'processor does not index', reason: alert.reason }])
  expect(shown.processors).toMatchObject([{ status: 'STALLED', reason: alert.reason }])
}, 480_000)

test('two processors are started once each by one deployment', async () => {
  edit('src/processor.ts', (text) => text.replace(/\.setGateway\('[^']*'\)/, ''))
  edit('src/main.ts', (text) =>
    text.replace('supportHotBlocks: true', 'supportHotBlocks: true, stateSchema: process.env.STATE'),
  )
  edit('squid.yaml', (text) =>
    text.replace(
      "  processor:\n    cmd: [sqd, 'process:prod']\n",
      `  processor:
    - { name: one, env: { STATE: one }, cmd: [sqd, 'process:prod'] }
    - { name: two, env: { STATE: two, CONTRACT_ADDRESS: '0x000000000000000000000000000000000000dEaD' }, cmd: [sqd, 'process:prod'] }
`,
    ),
  )
  await deployed('v3')
  await until(
    async () => (await get('v3')).processors?.every(({ status }) => status === 'SYNCED'),
    'both are synced',
    120_000,
  )
  const params = { code: day.org, reference: 'erc20-transfers@v3' }
  const { logs } = await day.api.logs.history({ params, query: { limit: '10000' } })
  const starts = logs.filter(({ payload }) => JSON.stringify(payload).includes('processing blocks from'))
  expect(starts.map(({ container }) => container).toSorted()).toEqual(['one', 'two'])
  expect((await get('v3')).processors?.map(({ restarts }) => restarts)).toEqual([0, 0])
}, 360_000)
