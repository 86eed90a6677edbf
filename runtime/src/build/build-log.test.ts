import { expect, test } from 'vitest'
import { BuildLog } from './build-log.ts'

function openLog() {
  const logged: string[] = []
  const log = new BuildLog((_severity, message) => void logged.push(message))
  return { logged, ...log.capture(false) }
}

test('a flood of short lines is bounded, with a remark in the log', () => {
  const { logged, onLine } = openLog()
  for (let i = 0; i < 100_000; i++) onLine('x')
  expect(logged.length).toBeLessThan(25_000)
  expect(logged.at(-1)).toMatch(/has written more than 2 MB/)
})

test('long lines of incomplete escape sequences take little time', () => {
  const { onLine, tail } = openLog()
  const startedMs = performance.now()
  for (let i = 0; i < 5; i++) onLine(`${'\u001b]'.repeat(128_000)}end`)
  // Quadratic time would mean minutes.
  expect(performance.now() - startedMs).toBeLessThan(10_000)
  expect(tail).toHaveLength(5)
})
