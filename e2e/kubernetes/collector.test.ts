import type { LogCursor, Runtime } from '@shoal/runtime'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type InstalledCollector, canInstallCollector, installCollector } from '../support/collector.ts'
import { kubectl } from '../support/kubernetes.ts'
import { until } from '../support/until.ts'
import { container, openDriver, workload } from './driver-harness.ts'

const canRun = await canInstallCollector()

/** Returns a container that prints `count` lines of about 200 bytes, `rate` per second, and finally `end <count>`. */
const printer = (name: string, count: number, rate: number) =>
  container(name, { command: ['print', `${count}`, `${rate}`, '200'], ports: [], stopGraceMs: 5000 })

/** Collects log lines in the background until the end of the test. `follow` starts to read from a runtime. */
function collectLines() {
  const cursor: LogCursor = {}
  const lines: string[] = []
  let reading = Promise.resolve()
  let ending = new AbortController()
  const stop = async () => {
    ending.abort()
    await reading
  }
  onTestFinished(stop)
  return {
    stop,
    follow(runtime: Runtime) {
      ending = new AbortController()
      const { signal } = ending
      reading = (async () => {
        for await (const batch of runtime.logs({ ...cursor }, signal)) {
          // This simulates a worker that ended before it stored these lines.
          if (signal.aborted) return
          lines.push(...batch.lines.map((line) => `${line.workload} ${line.container} ${line.text}`))
          Object.assign(cursor, batch.cursor)
        }
      })()
    },
    /** Returns the lines of a program, without their padding. */
    linesOf: (id: string, name: string) =>
      lines.flatMap((line) => (line.startsWith(`${id} ${name} `) ? [line.split(' ').slice(2).join(' ')] : [])),
    /** Waits for a program's last line, and checks that each line arrived once. Returns the number of lines. */
    async expectComplete(id: string, name: string): Promise<number> {
      const ends = () => this.linesOf(id, name).filter((text) => text.startsWith('end '))
      await until(() => ends().length > 0, `the last line of ${name}`)
      const count = Number(ends()[0]?.slice(4))
      await until(() => this.linesOf(id, name).length > count, `all lines of ${name}`)
      const numbers = this.linesOf(id, name).map((text) => Number(text.split(' ')[0]))
      const expected = Array.from({ length: count }, (_, i) => i + 1)
      // Lines from before and after an interruption may be in any order. The last line has no number.
      expect(numbers.filter((number) => !Number.isNaN(number)).toSorted((first, second) => first - second)).toEqual(
        expected,
      )
      expect(ends()).toHaveLength(1)
      return count
    },
  }
}

describe.skipIf(!canRun)('logs that collectors send from the nodes', () => {
  let collector: InstalledCollector | undefined

  beforeAll(async () => {
    collector = await installCollector()
  }, 1_200_000)

  afterAll(() => collector?.remove())

  const open = () => openDriver({ logListener: collector ?? null })

  test('each line arrives once, across log rotations, and even from pods that are deleted while they print', async () => {
    const { runtime, until: untilState, observe } = await open()
    const collected = collectLines()
    collected.follow(runtime)
    await runtime.apply(workload([printer('slow', 10_000, 800), printer('fast', 10_000, 0)]))
    await runtime.apply(
      workload([printer('first', 1_000_000, 500), printer('second', 3000, 0)], { id: '13.1', version: '13' }),
    )
    await untilState('second', { state: 'running' }, '13.1')
    await until(() => collected.linesOf('13.1', 'first').length > 100, 'lines arrive')
    await runtime.remove('13.1')
    await until(async () => (await observe('first', '13.1')) === undefined, 'the pod is deleted')
    const printed = await collected.expectComplete('13.1', 'first')
    expect(await collected.expectComplete('13.1', 'second')).toBe(3000)
    // Each program prints about 2 MiB, and kubelet rotates log files at 1 MiB.
    await until(() => collected.linesOf('12.1', 'slow').length === 10_000, 'all lines of the slow program')
    await runtime.remove('12.1')
    expect(await collected.expectComplete('12.1', 'slow')).toBe(10_000)
    expect(await collected.expectComplete('12.1', 'fast')).toBe(10_000)
    expect(printed).toBeGreaterThan(100)
  })

  test('no line is lost or duplicated when the worker and the collectors are killed', async () => {
    const driver = await open()
    const collected = collectLines()
    collected.follow(driver.runtime)
    await driver.runtime.apply(workload([printer('api', 1_000_000, 300), printer('two', 1_000_000, 300)]))
    await until(() => collected.linesOf('12.1', 'two').length > 100, 'lines arrive')
    await until(() => collected.linesOf('12.1', 'api').length > 100, 'lines of the other program arrive')
    const first = (await driver.observe('api'))?.run?.id

    await collected.stop()
    await driver.runtime.close('keep')
    await kubectl(['delete', 'pods', '-n', driver.namespace, '-l', 'shoal.dev/container=api'])
    await driver.restart()
    await until(
      async () => ![undefined, first].includes((await driver.observe('api'))?.run?.id),
      'the deleted pod is replaced',
    )
    collected.follow(driver.runtime)
    await until(
      () => collected.linesOf('12.1', 'api').filter((text) => text.startsWith('1 ')).length === 2,
      'both runs have lines',
    )

    await kubectl(['delete', 'pods', '-n', 'shoal-collector', '--all', '--grace-period=1'])
    // If a pod is deleted while the collector of its node does not run, its lines may be lost.
    await kubectl(['rollout', 'status', 'daemonset/collector', '-n', 'shoal-collector', '--timeout=50s'])
    const before = collected.linesOf('12.1', 'two').length
    await until(
      () => collected.linesOf('12.1', 'two').length > before + 1000,
      'lines arrive after the collectors were killed',
    )

    await driver.runtime.remove('12.1')
    expect(await collected.expectComplete('12.1', 'two')).toBeGreaterThan(1000)
    const ends = () => collected.linesOf('12.1', 'api').filter((text) => text.startsWith('end '))
    await until(() => ends().length === 2, 'the last lines of both runs')
    const [count = 0, nextCount = 0] = ends().map((text) => Number(text.slice(4)))
    // Lines of two pods on two nodes may arrive in any order.
    const expected = [count, nextCount].flatMap((length) => [...Array.from({ length }, (_, i) => `${i + 1}`), 'end'])
    const received = collected.linesOf('12.1', 'api').map((text) => text.split(' ')[0] ?? '')
    expect(received.toSorted()).toEqual(expected.toSorted())
  })
})
