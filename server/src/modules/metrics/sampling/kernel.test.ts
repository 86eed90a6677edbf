import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createProcessRuntime, ManualClock, type Runtime, type Workload } from '@shoal/runtime'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { WorkerApp } from '../../../app.ts'
import { startTestApp, type TestApp } from '../../../testing/index.ts'
import { until } from '../../../testing/until.ts'
import { readContainers } from '../../observing/containers/observe-containers.ts'
import { loadObservationCache } from '../../observing/observation-cache.ts'
import { makeVersion } from '../../versions/testing/make-version.ts'
import { openSampler } from './sampler.ts'

/**
 * The source of a program that counts its runs in its own folder. Each of its first six runs ends with the next value of `ends`: with an error, out of memory, or
 * with a child that is out of memory. Later runs do not end.
 */
const PROGRAM = `
const { readFileSync, writeFileSync } = require('node:fs')
const { spawnSync } = require('node:child_process')
const fill = () => { for (const all = []; ; ) all.push(Buffer.alloc(1024 * 1024, 1)) }
if (process.argv[2] === 'fill') fill()
let run = 0
try { run = Number(readFileSync('run', 'utf8')) } catch {}
writeFileSync('run', String(run + 1))
console.log('run ' + run)
const ends = ['error', 'oom', 'error', 'error', 'oom in child', 'error'][run]
if (ends === 'oom') fill()
if (ends === 'oom in child') spawnSync('sh', ['-c', 'echo 1000 >/proc/self/oom_score_adj; exec node main.cjs fill'], { stdio: 'inherit' })
if (ends) process.exit(3)
setInterval(() => {}, 60_000)
`
const ENDING_RUNS = 6

let t: TestApp
let dir: string
let clock: ManualClock
let runtime: Runtime

beforeEach(async () => {
  t = await startTestApp()
  dir = mkdtempSync(join(tmpdir(), 'shoal-kernel-'))
  // Programs run as other users, which must be able to traverse the path of their image.
  chmodSync(dir, 0o711)
  const image = join(dir, 'images/image')
  mkdirSync(join(image, 'app'), { recursive: true })
  mkdirSync(join(image, 'tools'))
  writeFileSync(join(image, 'app/main.cjs'), PROGRAM)
  const manifest = { nodeBinDir: dirname(process.execPath), toolchainBinDir: join(image, 'tools'), sdk: null }
  writeFileSync(join(image, 'image.json'), JSON.stringify(manifest))
  clock = new ManualClock()
  runtime = createProcessRuntime({ stateDir: join(dir, 'state'), imagesDir: join(dir, 'images'), clock })
  await runtime.start()
})

afterEach(async () => {
  await runtime.close('stop')
  await t.close()
  rmSync(dir, { recursive: true, force: true })
})

type Cgroups = { version: 1; memory: string } | { version: 2; unified: string }

/** Returns the cgroups of the only container; null without. */
function readCgroups(id: string): Cgroups | null {
  const record: { cgroups: Cgroups | null } = JSON.parse(
    readFileSync(join(dir, 'state/containers', id, 'eth/record.json'), 'utf8'),
  )
  return record.cgroups
}

/** Reads the kernel's out-of-memory kills of the container in these cgroups. */
function readKernelOomKills(cgroups: Cgroups): number {
  const [base, file] =
    cgroups.version === 1 ? [cgroups.memory, 'memory.oom_control'] : [cgroups.unified, 'memory.events']
  const [name = ''] = readdirSync(base, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? entry.name : [],
  )
  return Number(/^oom_kill (\d+)$/m.exec(readFileSync(join(base, name, file), 'utf8'))?.[1])
}

test('recorded restarts, crashes and out-of-memory kills match the runs and the counters of the kernel', async ({
  skip,
}) => {
  const app: WorkerApp = { ...t.app, clock, runtime }
  const squid = await makeVersion(app, await t.make.org(), { row: { processors: ['eth'] } })
  const workload: Workload = {
    id: `${squid.id}.1`,
    tenant: 'org',
    version: String(squid.id),
    image: 'image',
    containers: [
      {
        name: 'eth',
        command: ['node', 'main.cjs'],
        env: {},
        resources: { cpuCores: 1, memoryBytes: 128 * 2 ** 20 },
        restart: 'on-failure',
        ports: [],
        stopGraceMs: 200,
      },
    ],
  }
  await runtime.apply(workload)
  const client = await t.app.database.pool.connect()
  try {
    const sampler = await openSampler(app, client, { idleRatio: 0 })
    /** Observes and samples once, like a worker that has just become active. */
    const observe = async () => {
      const cache = await loadObservationCache(t.app)
      await cache.recordContainers(await readContainers(app, cache.containers))
      await sampler.tick()
    }
    let cgroups: Cgroups | null = null
    for (let run = 0; run < ENDING_RUNS; run++) {
      await until(async () => {
        expect(await runtime.observe()).toMatchObject([{ state: 'backoff', lastRun: { ordinal: run } }])
      })
      // Without a limit, the next run would fill the memory of the whole machine.
      cgroups ??= readCgroups(workload.id) ?? skip('cgroups cannot be created here')
      // These two runs are not observed: the observer must count them from the gap in the ordinals.
      if (run !== 2 && run !== 3) await observe()
      clock.advance(60_000)
    }
    const starts = async () =>
      (await runtime.tail(workload.id, 'eth', 100)).filter((line) => line.startsWith('run ')).length
    await until(async () => expect(await starts()).toBe(ENDING_RUNS + 1))
    await observe()
    const kills = cgroups && readKernelOomKills(cgroups)
    expect(kills).toBe(2)
    const { rows: states } = await client.query(
      'select restarts, crashes_in_a_row as crashes, oom_kills as kills from container_states',
    )
    expect(states).toEqual([{ restarts: ENDING_RUNS, crashes: ENDING_RUNS, kills }])
    const { rows: samples } = await client.query(
      'select sum(crashes)::int as crashes, sum(oom_kills)::int as kills from container_samples',
    )
    expect(samples).toEqual([{ crashes: ENDING_RUNS, kills }])
  } finally {
    client.release()
  }
})
