import { expect, test } from 'vitest'
import { BuildLog } from './build-log.ts'

function openLog() {
  const logged: string[] = []
  const log = new BuildLog((_severity, message) => void logged.push(message))
  return { logged, ...log.capture(false) }
}

test('the log limits the output of many short lines, and ends with a warning', () => {
  const { logged, onLine } = openLog()
  for (let i = 0; i < 100_000; i++) onLine('x')
  expect(logged.length).toBeLessThan(25_000)
  expect(logged.at(-1)).toMatch(/has written more than 2 MB/)
})

test('long lines of incomplete escape sequences are logged quickly', () => {
  const { onLine, tail } = openLog()
  const startedMs = performance.now()
  for (let i = 0; i < 5; i++) onLine(`${'\u001b]'.repeat(128_000)}end`)
  // In quadratic time, this would take minutes.
  expect(performance.now() - startedMs).toBeLessThan(10_000)
  expect(tail).toHaveLength(5)
})
