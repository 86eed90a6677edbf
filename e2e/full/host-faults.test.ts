import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeBareSquid } from '../support/bare-squid.ts'
import { startDay, type Day } from '../support/day.ts'
import { deploy, ended } from '../support/deploy.ts'
import { hasHealed, playOn, printHostFaults, report, seconds, watch } from '../support/host-watch.ts'
import { attacks, makeHostileSquid, type Attack } from '../support/hostile-squid.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { until } from '../support/until.ts'

/** Duration of the full disk. */
const fullMs = 20_000
const isRoot = process.getuid?.() === 0
afterAll(printHostFaults)

describe('a squid that attacks its host', () => {
  let day: Day
  let folders: string[] = []

  beforeAll(async () => {
    day = await startDay()
    const neighbour = makeBareSquid('neighbour')
    folders.push(neighbour)
    const id = await deploy({ ...day, project: neighbour }, { slot: 'v1', name: 'neighbour' })
    expect(await ended(day, id)).toMatchObject({ status: 'OK' })
  }, 300_000)

  afterAll(async () => {
    await day?.end()
    for (const folder of folders) rmSync(dirname(folder), { recursive: true, force: true })
    folders = []
  })

  /** Returns what users see of the attacker once Shoal has noticed; null before. */
  const reported: Record<Attack, () => Promise<string | null>> = {
    'eats memory': async () => {
      const { processors } = await day.api.squids.get({ params: { code: day.org, reference: 'attacker@v1' } })
      return processors?.[0]?.reason?.match(/memory/) ? (processors[0]?.reason ?? null) : null
    },
    'forks without end': async () => 'nothing: the process limit is enforced',
    'floods its log': async () => {
      const { logs } = await day.api.logs.history({ params: { code: day.org, reference: 'attacker@v1' }, query: {} })
      return logs.length > 0 ? 'nothing: its log is ingested without delay' : null
    },
  }

  test.each(Object.keys(attacks) as Attack[])(
    '%s: its neighbour and the API keep working',
    async (attack) => {
      const project = makeHostileSquid('attacker', attack)
      folders.push(project)
      const timeline = watch(day, day.endpointOf('neighbour@v1'))
      await until(() => timeline.latest('neighbour') === '200', 'the neighbour responds')
      expect(await ended(day, await deploy({ ...day, project }, { slot: 'v1', name: 'attacker' }))).toMatchObject({
        status: 'OK',
      })
      timeline.mark()
      const attackedMs = performance.now()
      const message = await until(reported[attack], 'it is noticed', 90_000)
      const noticedMs = performance.now() - attackedMs
      await until(() => performance.now() - attackedMs > 30_000, 'the attack has lasted 30 s')
      await timeline.stop()
      report(`a squid ${attack}, for 30 s`, timeline, `${message} (${seconds(noticedMs)})`)
      await day.api.squids.delete({ params: { code: day.org, reference: 'attacker@v1' } })
      await until(
        async () => !(await day.api.squids.list({ params: { code: day.org } })).some((s) => s.name === 'attacker'),
        'it is deleted',
      )
      expect(timeline.history('neighbour')).toBe('200')
      expect(timeline.history('api')).toBe('200')
    },
    240_000,
  )
})

describe.skipIf(!isRoot)('a full disk (a tmpfs as data directory; needs root)', () => {
  test('no data is lost, and everything recovers when space is freed', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'full-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=300m,mode=0755', 'tmpfs', dataDir])
    let shoal: Shoal | undefined
    try {
      mkdirSync(join(dataDir, 'data'), { mode: 0o755 })
      shoal = await startShoal({ SHOAL_RUNTIME: 'sim' }, join(dataDir, 'data'))
      const played = await playOn(shoal)
      const timeline = watch(played, played.endpoint)
      await until(() => timeline.latest('neighbour') === '200', 'everything works')
      timeline.mark()
      const filler = join(dataDir, 'filler')
      fill(filler, dataDir)
      await until(() => timeline.latest('readyz') === '503', '`/readyz` reports it')
      const { checks } = (await (await fetch(`${shoal.url}/readyz`)).json()) as { checks: { disk: string } }
      const writes = startWrites(played)
      await pause(fullMs)
      const refused = await writes.stop()
      rmSync(filler)
      const freedMs = performance.now()
      await until(() => hasHealed(timeline), 'everything works again', 90_000)
      const healedMs = performance.now() - freedMs
      const written = startWrites(played)
      await until(() => written.results().at(-1) === 'stored', 'changes are stored again')
      await written.stop()
      await timeline.stop()
      const messages = `\`/readyz\`: disk, ${checks.disk}; changes: ${refused.join(', ')}`
      report('disk full for 20 s, then freed', timeline, `${messages}; healthy ${seconds(healedMs)} after it was freed`)
      expect(timeline.history('neighbour')).toBe('200')
    } finally {
      await shoal?.end()
      execFileSync('umount', [dataDir])
      rmSync(dataDir, { recursive: true, force: true })
    }
  }, 240_000)
})

/** Changes the organization's secrets repeatedly. `stop` returns the distinct results in the order of their first occurrence. */
function startWrites({ api, org }: Awaited<ReturnType<typeof playOn>>) {
  const results: string[] = []
  let isStopped = false
  const loop = async () => {
    while (!isStopped) {
      const secrets = [{ action: 'UPDATE' as const, name: 'BALLAST', value: randomBytes(2_000).toString('hex') }]
      results.push(
        await api.secrets.change({ params: { code: org }, body: { secrets } }).then(() => 'stored', statusOf),
      )
      await pause(100)
    }
  }
  const running = loop()
  return {
    results: () => results,
    stop: async () => {
      isStopped = true
      await running
      return [...new Set(results)]
    },
  }
}

const statusOf = (error: unknown): string =>
  error instanceof Error && 'status' in error ? String(error.status) : String(error)

/** Uses all free space of the file system. */
function fill(file: string, dir: string): void {
  const block = Buffer.alloc(1 << 20)
  const blocks: Buffer[] = Array.from({ length: Math.ceil(statfsSync(dir).bavail / 256) + 1 }, () => block)
  try {
    writeFileSync(file, Buffer.concat(blocks))
  } catch {
    // The disk is full, as intended.
  }
}
