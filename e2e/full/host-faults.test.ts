import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeBareSquid } from '../support/bare-squid.ts'
import { startTestCloud, type TestCloud } from '../support/test-cloud.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import {
  hasRecovered,
  deploySimulatedTo,
  printHostFaults,
  reportHostFault,
  seconds,
  watchHost,
} from '../support/host-watch.ts'
import { attacks, makeHostileSquid, type Attack } from '../support/hostile-squid.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { until } from '../support/until.ts'

/** How long the disk stays full. */
const diskFullMs = 20_000
const isRoot = process.getuid?.() === 0
afterAll(printHostFaults)

describe('a squid that attacks its host', () => {
  let cloud: TestCloud
  let folders: string[] = []

  beforeAll(async () => {
    cloud = await startTestCloud()
    const neighbour = makeBareSquid('neighbour')
    folders.push(neighbour)
    const id = await deploy({ ...cloud, project: neighbour }, { slot: 'v1', name: 'neighbour' })
    expect(await waitForDeployment(cloud, id)).toMatchObject({ status: 'OK' })
  })

  afterAll(async () => {
    await cloud?.end()
    for (const folder of folders) rmSync(dirname(folder), { recursive: true, force: true })
    folders = []
  })

  /** For each attack, a function that returns what users see of it; null until Shoal has noticed it. */
  const effectOf: Record<Attack, () => Promise<string | null>> = {
    'exhausts memory': async () => {
      const { processors } = await cloud.api.squids.get({ params: { code: cloud.org, reference: 'attacker@v1' } })
      return processors?.[0]?.reason?.match(/memory/) ? (processors[0]?.reason ?? null) : null
    },
    'forks without limit': async () => 'nothing: the process limit is enforced',
    'floods its log': async () => {
      const { logs } = await cloud.api.logs.history({
        params: { code: cloud.org, reference: 'attacker@v1' },
        query: {},
      })
      return logs.length > 0 ? 'nothing: its log is ingested without delay' : null
    },
  }

  test.each(Object.keys(attacks) as Attack[])(
    'a squid that %s affects neither its neighbour nor the API',
    async (attack) => {
      const project = makeHostileSquid('attacker', attack)
      folders.push(project)
      const timeline = watchHost(cloud, cloud.endpointOf('neighbour@v1'))
      await until(() => timeline.latest('neighbour') === '200', 'the neighbour responds')
      expect(
        await waitForDeployment(cloud, await deploy({ ...cloud, project }, { slot: 'v1', name: 'attacker' })),
      ).toMatchObject({
        status: 'OK',
      })
      timeline.markFault()
      const attackedMs = performance.now()
      const message = await until(effectOf[attack], 'Shoal has noticed the attack', 90_000)
      const noticedMs = performance.now() - attackedMs
      await until(() => performance.now() - attackedMs > 30_000, 'the attack has lasted 30 s')
      await timeline.stop()
      reportHostFault(`a squid ${attack}, for 30 s`, timeline, `${message} (${seconds(noticedMs)})`)
      await cloud.api.squids.delete({ params: { code: cloud.org, reference: 'attacker@v1' } })
      await until(
        async () => !(await cloud.api.squids.list({ params: { code: cloud.org } })).some((s) => s.name === 'attacker'),
        'the attacker is deleted',
      )
      expect(timeline.history('neighbour')).toBe('200')
      expect(timeline.history('api')).toBe('200')
    },
    240_000,
  )
})

describe.skipIf(!isRoot)('a full disk (a tmpfs as data directory; needs root)', () => {
  test('does not affect a running squid, and Shoal recovers when space is freed', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'full-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=300m,mode=0755', 'tmpfs', dataDir])
    let shoal: Shoal | undefined
    try {
      mkdirSync(join(dataDir, 'data'), { mode: 0o755 })
      shoal = await startShoal({ SHOAL_RUNTIME: 'sim' }, join(dataDir, 'data'))
      const simulated = await deploySimulatedTo(shoal)
      const timeline = watchHost(simulated, simulated.endpoint)
      await until(() => timeline.latest('neighbour') === '200', 'the squid responds')
      timeline.markFault()
      const filler = join(dataDir, 'filler')
      fill(filler, dataDir)
      await until(() => timeline.latest('readyz') === '503', '`/readyz` reports the full disk')
      const { checks } = (await (await fetch(`${shoal.url}/readyz`)).json()) as { checks: { disk: string } }
      const writes = startWrites(simulated)
      await pause(diskFullMs)
      const resultsWhileFull = await writes.stop()
      rmSync(filler)
      const freedMs = performance.now()
      await until(() => hasRecovered(timeline), 'the API and the squid respond and the server is ready', 90_000)
      const recoveryMs = performance.now() - freedMs
      const laterWrites = startWrites(simulated)
      await until(() => laterWrites.results().at(-1) === 'stored', 'changes are stored again')
      await laterWrites.stop()
      await timeline.stop()
      const messages = `\`/readyz\`: disk, ${checks.disk}; changes: ${resultsWhileFull.join(', ')}`
      reportHostFault(
        'disk full for 20 s, then freed',
        timeline,
        `${messages}; healthy ${seconds(recoveryMs)} after it was freed`,
      )
      expect(timeline.history('neighbour')).toBe('200')
    } finally {
      await shoal?.end()
      execFileSync('umount', [dataDir])
      rmSync(dataDir, { recursive: true, force: true })
    }
  })
})

/** Changes the organization's secrets repeatedly. `stop` returns the distinct results in the order of their first occurrence. */
function startWrites({ api, org }: Awaited<ReturnType<typeof deploySimulatedTo>>) {
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

/** Writes to `file` until the file system of `dir` has no free space. */
function fill(file: string, dir: string): void {
  const block = Buffer.alloc(1 << 20)
  const blocks: Buffer[] = Array.from({ length: Math.ceil(statfsSync(dir).bavail / 256) + 1 }, () => block)
  try {
    writeFileSync(file, Buffer.concat(blocks))
  } catch {
    // The write fails when the disk is full, as intended.
  }
}
