import { createSimRuntime, ManualClock } from '@shoal/runtime'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../testing/index.ts'
import { isProcessor } from '../containers.ts'
import { makeVersion } from '../versions/testing/make-version.ts'
import { readContainers } from './containers/observe-containers.ts'
import { loadObservationCache, type ObservationCache } from './observation-cache.ts'
import { nextRow } from './probing/observe-processors.ts'
import { parseProcessorMetrics, type ProcessorMetrics } from './probing/scrape.ts'

let t: TestApp
let cache: ObservationCache
const warnings: { rejected: unknown[][] }[] = []
const clock = new ManualClock()

beforeAll(async () => {
  const runtime = createSimRuntime({ clock })
  t = await startTestApp({ clock, runtime })
  const processor = {}
  for (let n = 0; n < 2; n++)
    await makeVersion(t.app, await t.make.org(), { processors: { eth: processor, base: processor }, apis: [{}] })
  const log = { ...t.app.log, warn: (fields: (typeof warnings)[number]) => void warnings.push(fields) }
  cache = await loadObservationCache({ db: t.app.db, log })
  const reading = await readContainers({ clock, runtime }, cache.containers)
  const containers = new Map(reading.containers)
  const [key, first] = [...containers].find(([, { container }]) => container.startsWith('api')) ?? []
  if (!key || !first) throw new Error('no api')
  containers.set(key, { ...first, reason: 'NUL \0' })
  await cache.recordContainers({ ...reading, containers })
})
afterAll(() => t?.close())

const metrics = parseProcessorMetrics('sqd_processor_last_block 7\n') as ProcessorMetrics
const processors = () => [...cache.containers].filter(([, { container }]) => isProcessor({ name: container }))
const selectBlocks = async () => {
  const { rows } = await t.app.database.pool.query<{ block: number }>(
    'select current_block as block from processor_states order by squid_id, processor',
  )
  return rows.map(({ block }) => block)
}

test.each([1e300, -1e300, 2 ** 63, 0.5])(
  'a processor whose block is %s does not prevent those of other organizations from being stored',
  async (currentBlock) => {
    await t.app.database.pool.query('delete from processor_states')
    warnings.length = 0
    const [bad] = processors()
    const rows = processors().map(([key, row]) => {
      const reported = key === bad?.[0] ? { ...metrics, currentBlock } : metrics
      return [key, nextRow(row, undefined, reported, clock.now())] as const
    })
    expect(rows).toHaveLength(4)
    await cache.recordProcessors(new Map(rows.flatMap(([key, row]) => (row ? [[key, row]] : []))))
    expect(await selectBlocks()).toEqual([7, 7, 7])
    const { squidId, generation, container } = bad?.[1] ?? {}
    expect(warnings).toMatchObject([{ rejected: [[squidId, generation, container]] }])
  },
)

test('a container whose state cannot be stored does not prevent others from being stored', async () => {
  const { rows } = await t.app.database.pool.query<{ count: number }>(
    "select count(*)::int as count from container_states where reason is null and container like 'api%'",
  )
  expect(rows).toEqual([{ count: 1 }])
})
