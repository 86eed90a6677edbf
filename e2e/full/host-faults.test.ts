import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDay, type Day } from '../support/day.ts'
import { deploy, ended } from '../support/deploy.ts'
import { printFaults, reportFault } from '../support/fault-report.ts'
import { attacks, makeHostileSquid, type Attack } from '../support/hostile-squid.ts'
import { played } from '../support/played-squid.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { startTimeline, type Timeline } from '../support/timeline.ts'
import { until } from '../support/until.ts'

const isRoot = process.getuid?.() === 0
const fakeTime = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1'
const columns = ['console API', 'slowest API answer', '`/readyz`', "the neighbour's api", 'what was said']

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

afterAll(() => printFaults(...columns))

type Watched = { shoal: Shoal; token: string; org: string }

const watch = ({ shoal, token, org }: Watched, squid: string): Timeline =>
  startTimeline({
    api: async (signal) => {
      const headers = { authorization: `token ${token}` }
      return String((await fetch(`${shoal.url}/api/v1/orgs/${org}/squids`, { headers, signal })).status)
    },
    readyz: async (signal) => String((await fetch(`${shoal.url}/readyz`, { signal })).status),
    neighbour: async (signal) => {
      const body = JSON.stringify({ query: '{ __typename }' })
      const headers = { 'content-type': 'application/json' }
      return String((await fetch(squid, { method: 'POST', headers, body, signal })).status)
    },
  })

const report = (fault: string, timeline: Timeline, said: string) =>
  reportFault(
    fault,
    timeline.told('api'),
    seconds(timeline.slowestMs('api')),
    timeline.told('readyz'),
    timeline.told('neighbour'),
    said,
  )

const hasHealed = (timeline: Timeline) =>
  ['api', 'readyz', 'neighbour'].every((probe) => timeline.latest(probe) === '200')

describe('a squid that attacks its host', () => {
  let day: Day
  let folders: string[] = []

  beforeAll(async () => {
    day = await startDay()
    const neighbour = makeHostileSquid('neighbour', 'eats memory')
    writeFileSync(join(neighbour, 'processor.js'), 'setInterval(() => undefined, 60_000)\n')
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

/** An organization on a Shoal whose programs are only played. */
async function playOn(shoal: Shoal): Promise<Watched & { endpoint: string }> {
  const org = 'acme-labs'
  await shoal.cli('user', 'add', '--email', 'a@b.dev', '--name', 'Mira', '--password', 'correct-horse')
  await shoal.cli('org', 'add', '--code', org, '--name', org, '--email', 'a@b.dev')
  await shoal.cli('org', 'set-status', '--code', org, '--status', 'ACTIVE')
  const { token } = await shoal.cli<{ token: string }>('token', 'add', '--email', 'a@b.dev', '--name', 'laptop')
  const who = { shoal, org, token, api: shoal.as(token) }
  expect(await played(who, { name: 'played', slot: 'v1' })).toMatchObject({ status: 'OK' })
  return { ...who, endpoint: `${shoal.gatewayUrl}/${org}/played@v1/api/graphql` }
}

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
      const said = await until(
        async () => {
          const { url } = shoal as Shoal
          const answer = await fetch(`${url}/readyz`)
          if (answer.status !== 503) return null
          return ((await answer.json()) as { checks: { disk: string } }).checks.disk
        },
        '`/readyz` says it',
        60_000,
      )
      rmSync(filler)
      const freedMs = performance.now()
      await until(() => hasHealed(timeline), 'all is well again', 90_000)
      const healedMs = performance.now() - freedMs
      await timeline.stop()
      report(
        'disk full, then freed',
        timeline,
        `\`/readyz\`: disk, ${said}; well ${seconds(healedMs)} after it was freed`,
      )
      expect(timeline.told('neighbour')).toBe('200')
    } finally {
      await shoal?.end()
      execFileSync('umount', [dataDir])
      rmSync(dataDir, { recursive: true, force: true })
    }
  }, 240_000)
})

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

describe.skipIf(!existsSync(fakeTime))('a clock that jumps (needs libfaketime)', () => {
  test.each([
    { by: '+3600', fault: 'clock jumps an hour ahead' },
    { by: '-3600', fault: 'clock jumps an hour back' },
  ])(
    '$fault: squids and API go on',
    async ({ by, fault }) => {
      const folder = mkdtempSync(join(tmpdir(), 'clock-'))
      const file = join(folder, 'offset')
      writeFileSync(file, '+0\n')
      const shoal = await startShoal({
        SHOAL_RUNTIME: 'sim',
        LD_PRELOAD: fakeTime,
        FAKETIME_TIMESTAMP_FILE: file,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      })
      try {
        const who = await playOn(shoal)
        const timeline = watch(who, who.endpoint)
        await until(() => timeline.latest('neighbour') === '200', 'all is well')
        timeline.mark()
        writeFileSync(file, `${by}\n`)
        const deployed = await played({ ...who, api: shoal.as(who.token) }, { name: 'later', slot: 'v1' })
        const statuses = async () =>
          (await shoal.as(who.token).squids.list({ params: { code: who.org } })).map(
            ({ name, processors }) => `${name} ${processors?.[0]?.status}`,
          )
        await until(
          async () => (await statuses()).every((status) => /SYNCED|SYNCING/.test(status)),
          'processors are known',
        ).catch(async (error: unknown) => {
          throw new Error((await statuses()).join(', '), { cause: error })
        })
        await timeline.stop()
        report(fault, timeline, `a deployment after it: ${deployed.status}`)
        expect(deployed).toMatchObject({ status: 'OK' })
        expect(timeline.told('neighbour')).toBe('200')
        expect(timeline.told('api')).toBe('200')
      } finally {
        await shoal.end()
        rmSync(folder, { recursive: true, force: true })
      }
    },
    240_000,
  )
})
