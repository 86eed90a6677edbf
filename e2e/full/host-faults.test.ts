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

/** How long the disk stays full. */
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

  /** What users read of the attacker when Shoal has noticed. */
  const noticed: Record<Attack, () => Promise<string | null>> = {
    'eats memory': async () => {
      const { processors } = await day.api.squids.get({ params: { code: day.org, reference: 'attacker@v1' } })
      return processors?.[0]?.reason?.match(/memory/) ? (processors[0]?.reason ?? null) : null
    },
    'forks without end': async () => 'nothing: its limit of processes holds',
    'floods its log': async () => {
      const { logs } = await day.api.logs.history({ params: { code: day.org, reference: 'attacker@v1' }, query: {} })
      return logs.length > 0 ? 'its log is kept up with' : null
    },
  }

  test.each(Object.keys(attacks) as Attack[])(
    '%s: its neighbour and the API go on',
    async (attack) => {
      const project = makeHostileSquid('attacker', attack)
      folders.push(project)
      const timeline = watch(day, day.endpointOf('neighbour@v1'))
      await until(() => timeline.latest('neighbour') === '200', 'the neighbour answers')
      expect(await ended(day, await deploy({ ...day, project }, { slot: 'v1', name: 'attacker' }))).toMatchObject({
        status: 'OK',
      })
      timeline.mark()
      const attackedMs = performance.now()
      const said = await until(noticed[attack], 'it is noticed', 90_000)
      const noticedMs = performance.now() - attackedMs
      await until(() => performance.now() - attackedMs > 30_000, 'it had its time')
      await timeline.stop()
      report(`a squid ${attack}, for 30 s`, timeline, `${said} (${seconds(noticedMs)})`)
      await day.api.squids.delete({ params: { code: day.org, reference: 'attacker@v1' } })
      await until(
        async () => !(await day.api.squids.list({ params: { code: day.org } })).some((s) => s.name === 'attacker'),
        'it is deleted',
      )
      expect(timeline.told('neighbour')).toBe('200')
      expect(timeline.told('api')).toBe('200')
    },
    240_000,
  )
})

describe.skipIf(!isRoot)('a full disk (a tmpfs as data directory; needs root)', () => {
  test('nothing is lost, and all heals when there is room again', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'full-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=300m,mode=0755', 'tmpfs', dataDir])
    let shoal: Shoal | undefined
    try {
      mkdirSync(join(dataDir, 'data'), { mode: 0o755 })
      shoal = await startShoal({ SHOAL_RUNTIME: 'sim' }, join(dataDir, 'data'))
      const played = await playOn(shoal)
      const timeline = watch(played, played.endpoint)
      await until(() => timeline.latest('neighbour') === '200', 'all is well')
      timeline.mark()
      const filler = join(dataDir, 'filler')
      fill(filler, dataDir)
      await until(() => timeline.latest('readyz') === '503', '`/readyz` says it')
      const { checks } = (await (await fetch(`${shoal.url}/readyz`)).json()) as { checks: { disk: string } }
      const writes = startWrites(played)
      await pause(fullMs)
      const refused = await writes.stop()
      rmSync(filler)
      const freedMs = performance.now()
      await until(() => hasHealed(timeline), 'all is well again', 90_000)
      const healedMs = performance.now() - freedMs
      const written = startWrites(played)
      await until(() => written.answers().at(-1) === 'stored', 'changes are stored again')
      await written.stop()
      await timeline.stop()
      const said = `\`/readyz\`: disk, ${checks.disk}; changes: ${refused.join(', ')}`
      report('disk full for 20 s, then freed', timeline, `${said}; well ${seconds(healedMs)} after it was freed`)
      expect(timeline.told('neighbour')).toBe('200')
    } finally {
      await shoal?.end()
      execFileSync('umount', [dataDir])
      rmSync(dataDir, { recursive: true, force: true })
    }
  }, 240_000)
})

/** Changes the secrets of the organization again and again. Answers the different statuses, in the order they were first seen. */
function startWrites({ api, org }: Awaited<ReturnType<typeof playOn>>) {
  const answers: string[] = []
  let isStopped = false
  const loop = async () => {
    while (!isStopped) {
      const secrets = [{ action: 'UPDATE' as const, name: 'BALLAST', value: randomBytes(2_000).toString('hex') }]
      answers.push(
        await api.secrets.change({ params: { code: org }, body: { secrets } }).then(() => 'stored', statusOf),
      )
      await pause(100)
    }
  }
  const running = loop()
  return {
    answers: () => answers,
    stop: async () => {
      isStopped = true
      await running
      return [...new Set(answers)]
    },
  }
}

const statusOf = (error: unknown): string =>
  error instanceof Error && 'status' in error ? String(error.status) : String(error)

/** Takes all that is left of the file system. */
function fill(file: string, dir: string): void {
  const block = Buffer.alloc(1 << 20)
  const blocks: Buffer[] = Array.from({ length: Math.ceil(statfsSync(dir).bavail / 256) + 1 }, () => block)
  try {
    writeFileSync(file, Buffer.concat(blocks))
  } catch {
    // The disk is full, as it shall be.
  }
}
