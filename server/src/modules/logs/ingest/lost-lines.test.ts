import { createSimRuntime, ManualClock, type LogLoss } from '@shoal/runtime'
import { expect, onTestFinished, test } from 'vitest'
import { startTestApp } from '../../../testing/index.ts'
import { until } from '../../../testing/until.ts'
import { makeVersion } from '../../versions/testing/make-version.ts'
import { startLogIngest } from './start-ingest.ts'

test('the log of a version reports lines that its host deleted before they were collected, with their period', async () => {
  const clock = new ManualClock()
  const runtime = createSimRuntime({ clock })
  const t = await startTestApp({ clock, runtime })
  onTestFinished(() => t.close())
  const org = await t.make.org()
  const squid = await makeVersion(t.app, org, { processors: { eth: {} } })
  const [from, to] = [new Date('2026-01-01T10:00:05Z'), new Date('2026-01-01T10:03:10Z')]
  const source = { workload: `${squid.id}.1`, container: 'eth' }
  const lost: LogLoss[] = [
    { ...source, from, to, isCertain: true },
    { ...source, from: null, to, isCertain: false },
  ]
  runtime.logs = async function* (cursor, signal) {
    if (cursor['x'] === undefined) yield { lines: [], dropped: [], lost, cursor: { x: '1' } }
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  }
  const ingest = startLogIngest(t.app)
  onTestFinished(() => ingest.close())
  const params = { code: org.code, reference: 'test-squid@v1' }
  const history = () => t.as(org.admin).logs.history({ params, query: { limit: '10', orderBy: 'asc' } })
  await until(async () => expect((await history()).logs).toHaveLength(2))
  const { logs } = await history()
  expect(logs.map(({ level, container, payload }) => [level, container, payload])).toEqual([
    [
      'WARNING',
      'eth',
      {
        level: 'WARNING',
        ns: 'shoal',
        msg: 'Lines written between 2026-01-01 10:00:05 and 2026-01-01 10:03:10 UTC were lost: their host deleted them before they could be collected',
      },
    ],
    [
      'WARNING',
      'eth',
      {
        level: 'WARNING',
        ns: 'shoal',
        msg: 'Lines written before 2026-01-01 10:03:10 UTC may be missing: their host deleted them before they could be collected',
      },
    ],
  ])
})
