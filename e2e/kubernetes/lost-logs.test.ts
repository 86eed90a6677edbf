import type { LogCursor, LogLoss, Runtime } from '@shoal/runtime'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type InstalledCollector, canInstallCollector, installCollector } from '../support/collector.ts'
import { kubectl } from '../support/kubernetes.ts'
import { isFull } from '../support/tier.ts'
import { until } from '../support/until.ts'
import { container, openDriver, workload } from './driver-harness.ts'

const queueBytes = 4 * 2 ** 20
/** The rate of lines of about 200 bytes. Kubelet rotates a log file at 1 MiB, thus about every nine seconds, and compresses all old files but the newest. */
const linesPerSecond = 500
/** The number of lines that the program prints while no worker accepts lines: several times the size of the queue and the log files on the node. */
const linesWithoutWorker = 60_000

const canRun = isFull && (await canInstallCollector())

describe.skipIf(!canRun)('while the queue of a collector is full', () => {
  let collector: InstalledCollector | undefined

  beforeAll(async () => {
    collector = await installCollector(queueBytes)
  }, 1_200_000)

  afterAll(() => collector?.remove(), 120_000)

  test('lines are lost, and the runtime reports their period', { timeout: 1_800_000 }, async () => {
    const { runtime, namespace } = await openDriver({ logListener: collector ?? null })
    const cursor: LogCursor = {}
    const lost: LogLoss[] = []
    /** The time at which the program wrote each line, by the number of the line. */
    const times = new Map<number, number>()
    const follow = (from: Runtime) => {
      const ending = new AbortController()
      const reading = (async () => {
        for await (const batch of from.logs({ ...cursor }, ending.signal)) {
          if (ending.signal.aborted) return
          for (const { text, readAt } of batch.lines) times.set(Number(text.split(' ')[0]), readAt.getTime())
          lost.push(...(batch.lost ?? []))
          Object.assign(cursor, batch.cursor)
        }
      })()
      const stop = async () => {
        ending.abort()
        await reading
      }
      onTestFinished(stop)
      return stop
    }
    const last = () => Math.max(0, ...times.keys())
    const printer = container('processor', { command: ['print', '100000000', `${linesPerSecond}`, '200'] })
    const stop = follow(runtime)
    await runtime.apply(workload([printer]))
    await until(() => last() > 1000, 'lines arrive', 120_000)
    await stop()
    const before = last()
    const printed = async () =>
      Number((await kubectl(['logs', '-n', namespace, 'job/' + (await jobOf(namespace)), '--tail=1'])).split(' ')[0])
    await until(async () => (await printed()) > before + linesWithoutWorker, 'the program prints', 900_000)
    follow(runtime)
    const lastBeforeReturn = last()
    await until(() => last() > lastBeforeReturn + linesWithoutWorker, 'new lines arrive', 300_000)
    await until(() => lost.length > 0, 'the lost period is reported', 300_000)

    const numbers = [...times.keys()].toSorted((first, second) => first - second)
    const gaps = numbers.flatMap((number, index) => {
      const previous = numbers[index - 1] ?? 0
      return number === previous + 1
        ? []
        : [{ lines: number - previous - 1, from: times.get(previous), to: times.get(number) }]
    })
    console.log(`Lost ${gaps.map(({ lines }) => lines).join(' + ')} lines; reported: ${JSON.stringify(lost)}`)
    expect(gaps.length).toBeGreaterThan(0)
    for (const { from, to } of gaps) {
      const report = lost.find((loss) => Number(loss.from) <= Number(from) && loss.to.getTime() >= Number(to))
      expect(report, `a report for ${from} to ${to}`).toMatchObject({ workload: '12.1', container: 'processor' })
    }
    for (const loss of lost)
      expect(gaps.some(({ from, to }) => Number(loss.from) <= Number(from) && loss.to.getTime() >= Number(to))).toBe(
        true,
      )
    await runtime.remove('12.1')
  })
})

const jobOf = (namespace: string) =>
  kubectl(['get', 'jobs', '-n', namespace, '-o', 'jsonpath={.items[0].metadata.name}'])
