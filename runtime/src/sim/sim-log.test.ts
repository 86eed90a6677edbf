import { expect, test } from 'vitest'
import type { LogBatch } from '../driver.ts'
import { SimLogs } from './sim-log.ts'

const at = new Date(0)

/** Reads batches until all lines of the log were read, and returns their texts. Acknowledges all of them. */
async function readAll(logs: SimLogs, end: number, cursor: LogBatch['cursor'] = {}): Promise<string[]> {
  const controller = new AbortController()
  const texts: string[] = []
  let position = 0
  for await (const batch of logs.read(cursor, controller.signal)) {
    texts.push(...batch.lines.map(({ text }) => text))
    position = Math.max(...Object.values(batch.cursor).map(Number))
    // Wakes the reader after the last batch, so that it acknowledges this batch and ends.
    if (position >= end) controller.abort()
  }
  return texts
}

function openLog() {
  const logs = new SimLogs()
  const log = logs.open('1.1', 'processor')
  let written = 0
  const write = (count: number) => {
    for (let i = 0; i < count; i++) log.write(String(++written), at)
  }
  return { logs, log, write }
}

test('a line of the log reports how many of the oldest lines were dropped unread', async () => {
  const { logs, log, write } = openLog()
  write(250_000)
  const [report = '', ...texts] = await readAll(logs, log.end)
  const dropped = Number(/^(\d+) lines of log were dropped here/.exec(report)?.[1])
  expect(dropped).toBeGreaterThan(100_000)
  expect(dropped + texts.length).toBe(250_000)
  expect(texts[0]).toBe(String(dropped + 1))
  expect(texts.at(-1)).toBe('250000')
})

test('lines that were read before they were evicted are not reported as dropped', async () => {
  const { logs, log, write } = openLog()
  write(90_000)
  expect(await readAll(logs, log.end)).toHaveLength(90_000)
  write(90_000)
  const texts = await readAll(logs, log.end, { [log.id]: '90000' })
  expect(texts).toHaveLength(90_000)
  expect(texts[0]).toBe('90001')
})

test('later drops are reported by their own number', async () => {
  const { logs, log, write } = openLog()
  for (const cursor of [0, 250_000]) {
    write(250_000)
    const [report = '', ...texts] = await readAll(logs, log.end, { [log.id]: String(cursor) })
    expect(Number(/^(\d+) lines/.exec(report)?.[1]) + texts.length).toBe(250_000)
  }
})
