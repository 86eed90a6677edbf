import type { LogLoss } from '@shoal/runtime'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type InstalledCollector, canInstallCollector, installCollector } from '../support/collector.ts'
import { isFull } from '../support/tier.ts'
import { until } from '../support/until.ts'
import { container, openDriver, workload } from './driver-harness.ts'

const programs = 20
/** The number of lines, of about 200 bytes, that all programs together print in a second. `seconds`: for how long. */
const linesPerSecond = Number(process.env['SHOAL_TEST_LOG_RATE'] ?? 10_000)
const seconds = 30

const canRun = isFull && (await canInstallCollector())

describe.skipIf(!canRun)(`${programs} programs that print ${linesPerSecond} lines a second`, () => {
  let collector: InstalledCollector | undefined

  beforeAll(async () => {
    collector = await installCollector()
  }, 1_200_000)

  afterAll(() => collector?.remove(), 120_000)

  test(
    'lose and duplicate no line, although some programs are deleted while they print',
    { timeout: 900_000 },
    async () => {
      const { runtime, observe } = await openDriver({ logListener: collector ?? null, quota: {} })
      const received = new Map<string, { numbers: Set<number>; duplicates: number; end: number | null }>()
      const linesOf = (id: string) => {
        const program = received.get(id) ?? { numbers: new Set<number>(), duplicates: 0, end: null }
        received.set(id, program)
        return program
      }
      const reports: LogLoss[] = []
      const ending = new AbortController()
      const reading = (async () => {
        for await (const { lines, lost: lostPeriods = [] } of runtime.logs({}, ending.signal)) {
          reports.push(...lostPeriods)
          for (const { workload: id, text } of lines) {
            const [first = '', second = ''] = text.split(' ')
            const program = linesOf(id)
            if (first === 'end') program.end = Number(second)
            else if (program.numbers.has(Number(first))) program.duplicates++
            else program.numbers.add(Number(first))
          }
        }
      })()
      onTestFinished(async () => {
        ending.abort()
        await reading
      })
      const ids = Array.from({ length: programs }, (_, index) => `${index + 1}.1`)
      const rate = linesPerSecond / programs
      const printer = container('processor', {
        command: ['print', `${rate * seconds}`, `${rate}`, '200'],
        resources: { cpuCores: 0.5, memoryBytes: 64 * 2 ** 20 },
        stopGraceMs: 5000,
      })
      for (const id of ids) await runtime.apply(workload([printer], { id, version: id.split('.')[0] ?? '' }))
      for (const id of ids)
        await until(async () => (await observe('processor', id))?.state === 'running', `${id} runs`, 240_000)
      const startedMs = performance.now()
      const total = () => [...received.values()].reduce((sum, { numbers }) => sum + numbers.size, 0)
      const before = total()
      const deleted = ids.slice(0, programs / 4)
      for (const id of deleted) await runtime.remove(id)
      const kept = ids.slice(deleted.length)
      await until(
        () => kept.every((id) => linesOf(id).numbers.size === rate * seconds),
        'all lines of the remaining programs',
        600_000,
      )
      const perSecond = Math.round(((total() - before) / (performance.now() - startedMs)) * 1000)
      for (const id of kept) await runtime.remove(id)
      await until(() => ids.every((id) => linesOf(id).end !== null), 'the last line of each program', 300_000)
      await until(
        () => ids.every((id) => linesOf(id).numbers.size === linesOf(id).end),
        'no line is missing',
        300_000,
      ).catch(() => undefined)
      const lost = ids.reduce((sum, id) => sum + (linesOf(id).end ?? 0) - linesOf(id).numbers.size, 0)
      const duplicates = ids.reduce((sum, id) => sum + linesOf(id).duplicates, 0)
      console.log(`${total()} lines arrived, ${perSecond} a second: ${lost} lost, ${duplicates} duplicates`)
      expect({ lost, duplicates, reports }).toEqual({ lost: 0, duplicates: 0, reports: [] })
      // The deleted programs have printed only a part of their lines.
      for (const id of deleted) expect(linesOf(id).end).toBeLessThanOrEqual(rate * seconds)
    },
  )
})
