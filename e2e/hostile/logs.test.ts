import { globSync, readFileSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gapContainer, type LogEntry } from '@shoal/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeBareSquid } from '../support/bare-squid.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { addOrg, type Org } from '../support/org.ts'
import { connectTo } from '../support/postgres.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { until } from '../support/until.ts'

/**
 * Shell commands with endless output, by the kind of output. A program writes at most 20 MB per second. At full speed, the log would soon
 * reach the maximum size of a file, and the kernel would end the program.
 */
const floods = {
  'short-lines': 'yes',
  'endless-line': String.raw`yes | tr -d '\n'`,
  binary: 'cat /dev/urandom',
  nul: 'cat /dev/zero',
  escapes: String.raw`yes "$(printf '\033]0;%s' title)"`,
}
const floodScript = (output: string) => `while :; do ${output} | head -c 2000000; sleep 0.1; done\n`
const quotaMb = 20
/** The number of megabytes that the programs write before the test measures the disk space of their raw logs. */
const writtenMb = 1_000
const tickMs = 100
const metricsToken = 'metrics-of-hostile-logs'

let shoal: Shoal
let hostile: Org
let neighbour: Org
let followed: AbortController | null = null
const projects: string[] = []

async function deploySquid(org: Org, files: Record<string, string>): Promise<void> {
  const project = makeBareSquid(org.org, files)
  projects.push(project)
  const deployer = { ...org, shoal, project }
  const deployment = await waitForDeployment(deployer, await deploy(deployer, { name: org.org, slot: 'v1' }))
  expect(deployment.failureReason).toBeNull()
}

const scripts = Object.fromEntries(Object.entries(floods).map(([name, output]) => [`${name}.sh`, floodScript(output)]))

const hostileManifest = `manifest_version: subsquid.io/v0.1
name: hostile
deploy:
  init: false
  processor:
${Object.keys(floods)
  .map((name) => `    - name: ${name}\n      cmd: [sh, ${name}.sh]\n`)
  .join('')}  api:
    cmd: [node, api.js]
`

beforeAll(async () => {
  shoal = await startShoal({ SHOAL_LOG_MB_PER_DAY: String(quotaMb), SHOAL_METRICS_TOKEN: metricsToken })
  ;[neighbour, hostile] = await Promise.all([addOrg(shoal, 'neighbour'), addOrg(shoal, 'hostile')])
  await deploySquid(neighbour, {
    'processor.js': `let n = 0\nsetInterval(() => console.log('tick', n++, Date.now()), ${tickMs})\n`,
  })
})

afterAll(async () => {
  followed?.abort()
  await shoal?.end()
  for (const project of projects) rmSync(dirname(project), { recursive: true, force: true })
})

type Tick = { number: number; delayMs: number }

/** Follows the neighbour's log. Each line contains its number and the time at which the neighbour wrote it. */
async function followTicks(): Promise<Tick[]> {
  followed?.abort()
  followed = new AbortController()
  const url = `${shoal.url}/api/v1/orgs/neighbour/squids/neighbour@v1/logs/follow?container=processor`
  const headers = { authorization: `token ${neighbour.token}` }
  const { body } = await fetch(url, { headers, signal: followed.signal })
  const ticks: Tick[] = []
  const read = async (lines: ReadableStream<string>) => {
    let partial = ''
    for await (const text of lines) {
      const parts = (partial + text).split('\n')
      partial = parts.pop() ?? ''
      const now = Date.now()
      for (const { payload } of parts.filter(Boolean).flatMap((line) => JSON.parse(line) as LogEntry[])) {
        const [, number = NaN, writtenAt = NaN] = String(payload).split(' ').map(Number)
        ticks.push({ number, delayMs: now - writtenAt })
      }
    }
  }
  if (body) read(body.pipeThrough(new TextDecoderStream())).catch(() => undefined)
  return ticks
}

/**
 * Follows the neighbour's log for `count` lines, and fails if a line is missing. Returns the median time from the writing of a line to its
 * arrival in milliseconds, which depends on the load of the machine.
 */
async function medianDelay(count: number): Promise<number> {
  const ticks = await followTicks()
  await until(() => ticks.length >= count, `${count} lines of the neighbour arrive`)
  const first = ticks[0]?.number ?? NaN
  expect(ticks.map(({ number }) => number)).toEqual(ticks.map((_, i) => first + i))
  const delays = ticks.map(({ delayMs }) => delayMs).sort((a, b) => a - b)
  return delays[Math.floor(delays.length / 2)] ?? NaN
}

const metric = async (name: string): Promise<number> => {
  const response = await fetch(`${shoal.url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } })
  const values = [...(await response.text()).matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))]
  return values.reduce((sum, [, value]) => sum + Number(value), 0)
}

/** Returns how many bytes programs have written to the logs of their containers, and how many bytes these logs occupy on disk. */
function rawLogBytes(): { written: number; onDisk: number } {
  const files = globSync(['containers/*/*/log', 'unread-logs/*.log'], { cwd: shoal.dataDir })
  const stats = files.map((file) => ({
    file: join(shoal.dataDir, file),
    stat: statSync(join(shoal.dataDir, file), { throwIfNoEntry: false }),
  }))
  return {
    written: stats.reduce((sum, { file, stat }) => sum + removedBytes(file) + (stat?.size ?? 0), 0),
    onDisk: stats.reduce((sum, { stat }) => sum + (stat?.blocks ?? 0) * 512, 0),
  }
}

/** Returns how many bytes the server has removed from the beginning of a log, from the file in which it records that. */
function removedBytes(file: string): number {
  try {
    return (JSON.parse(readFileSync(`${file}.kept-from`, 'utf8')) as { removedBytes: number }).removedBytes
  } catch {
    return 0
  }
}

async function storedBytes(): Promise<number> {
  const client = await connectTo(shoal.dataDir, 'shoal')
  try {
    const { rows } = await client.query<{ bytes: number }>(
      "select sum(pg_total_relation_size(oid))::float8 as bytes from pg_class where relname like 'log\\_%' and relkind = 'r'",
    )
    return rows[0]?.bytes ?? 0
  } finally {
    await client.end()
  }
}

const hostileLog = async (query: object) =>
  (await hostile.api.logs.history({ params: { code: 'hostile', reference: 'hostile@v1' }, query })).logs
const reports = async () =>
  (await hostileLog({ limit: '1000', level: ['WARNING'] })).filter(({ container }) => container === gapContainer)

test('all lines of a neighbour arrive while a squid floods its own log', async () => {
  const quietDelay = await medianDelay(50)
  await deploySquid(hostile, { 'squid.yaml': hostileManifest, ...scripts })
  const startedMs = performance.now()
  const cpuBefore = await metric('process_cpu_seconds_total')
  const delay = await medianDelay(200)
  expect(delay).not.toBeNaN()
  const cpu = ((await metric('process_cpu_seconds_total')) - cpuBefore) / ((performance.now() - startedMs) / 1000)
  console.log(
    `median delay of a line: ${quietDelay} ms before the flood, ${delay} ms during it; the server used ${cpu.toFixed(2)} cores`,
  )
})

test('the log of the flooding squid reports dropped lines, and its quota limits the use of the database and the disk', async () => {
  await until(
    async () => (await reports()).some(({ payload }) => /MB a day/.test(String(payload))),
    'the quota is used up',
  )
  const texts = (await reports()).map(({ payload }) => String(payload))
  for (const text of texts)
    expect(text).toMatch(/^(about )?[\d,]+ lines? dropped between \d\d:\d\d:\d\d and \d\d:\d\d:\d\d UTC: more than /)
  expect(await metric('shoal_log_lines_dropped_total')).toBeGreaterThan(1_000)
  const stored = await storedBytes()
  expect(stored).toBeLessThan(1.5 * quotaMb * 1e6)
  // The server frees the disk space of lines that it has read or dropped, so an endless log does not fill the disk.
  const raw = await until(() => {
    const bytes = rawLogBytes()
    return bytes.written > writtenMb * 1e6 && bytes.onDisk < bytes.written / 10 ? bytes : null
  }, `programs have written ${writtenMb} MB, and their logs occupy less than a tenth of it`)
  const [storedMb, rawMb, onDiskMb] = [stored, raw.written, raw.onDisk].map((bytes) => (bytes / 1e6).toFixed(1))
  console.log(`stored ${storedMb} MB; raw logs: written ${rawMb} MB, on disk ${onDiskMb} MB`)
})

test('a crash of the server does not reset the quota', async () => {
  const newest = async () =>
    (await hostileLog({ container: Object.keys(floods), limit: '20' })).find(
      ({ container }) => container !== gapContainer,
    )?.id
  const before = await newest()
  expect(before).toBeDefined()
  await shoal.kill()
  await shoal.start()
  await medianDelay(20)
  await until(async () => (await metric('shoal_log_lines_dropped_total')) > 0, 'lines are dropped again')
  // When the server was killed, only a few lines were counted but not stored. A new quota would allow ten thousand more.
  expect(Number(await newest()) - Number(before)).toBeLessThan(500)
  await medianDelay(50)
})
