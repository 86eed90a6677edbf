import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { LogBatch, LogCursor } from '../driver.ts'
import { LogStore } from './log-store.ts'
import { lastLines, sealLog } from './run-log.ts'

const MIB = 1024 * 1024

describe('the logs of a host', () => {
  let dir: string
  let store: LogStore

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'shoal-logs-'))
    store = new LogStore(join(dir, 'unread'))
  })

  afterEach(() => rmSync(dir, { recursive: true }))

  const add = (id: string, text: string): string => {
    const file = join(dir, id)
    writeFileSync(file, text)
    store.add({ id, workload: 'one', container: id, file })
    return file
  }

  /** Reads until `isEnough`; the batch that was enough is acknowledged too. */
  const read = async (from: LogCursor, isEnough: (lines: string[], cursor: LogCursor) => boolean) => {
    const lines: string[] = []
    const cursor: LogCursor = { ...from }
    const stop = new AbortController()
    for await (const batch of store.read(from, stop.signal)) {
      for (const line of batch.lines) lines.push(`${line.container} ${line.text}`)
      Object.assign(cursor, batch.cursor)
      if (isEnough(lines, cursor)) stop.abort()
    }
    return { lines, cursor }
  }

  test('many lines of many containers are complete, in order and in few batches', async () => {
    const names = ['a', 'b', 'c', 'd']
    const count = 50_000
    const text = Array.from(
      { length: count },
      (_, index) => `{"level":2,"time":1767225600000,"ns":"sqd:processor","msg":"block ${index}"}\n`,
    ).join('')
    for (const name of names) add(name, text)
    const seen = new Map<string, number>()
    let batches = 0
    const stop = new AbortController()
    const take = ({ lines }: LogBatch) => {
      batches++
      for (const line of lines) {
        const index = seen.get(line.container) ?? 0
        if (!line.text.endsWith(`"block ${index}"}`)) throw new Error(`${line.text} is not line ${index}`)
        seen.set(line.container, index + 1)
      }
      if ([...seen.values()].every((value) => value === count) && seen.size === names.length) stop.abort()
    }
    for await (const batch of store.read({}, stop.signal)) take(batch)
    expect([...seen.values()]).toEqual(names.map(() => count))
    expect(batches).toBeLessThan(100)
  })

  test('a container with much output does not delay the others', async () => {
    add('loud', 'x\n'.repeat(2_000_000))
    add('quiet', 'here\n')
    const { lines } = await read({}, (lines) => lines.some((line) => line.startsWith('quiet')))
    expect(lines.length).toBeLessThan(100_000)
  })

  test('an incomplete line is delivered when it ends, including split characters', async () => {
    const file = add('a', 'whole\nbegun ')
    const { cursor } = await read({}, (lines) => lines.length === 1)
    appendFileSync(file, Buffer.from('Ü').subarray(0, 1))
    const reading = read(cursor, (lines) => lines.length === 2)
    await new Promise((resolve) => setTimeout(resolve, 150))
    appendFileSync(file, Buffer.concat([Buffer.from('Ü').subarray(1), Buffer.from('\r\nlast')]))
    sealLog(file)
    sealLog(file)
    expect((await reading).lines).toEqual(['a begun Ü', 'a last'])
  })

  test('the rest of a truncated line is discarded after a restart too', async () => {
    const file = add('a', 'x'.repeat(300_000))
    const { lines, cursor } = await read({}, (lines) => lines.length === 1)
    expect(lines[0]?.length).toBeLessThan(66_000)
    appendFileSync(file, 'rest\nnext\n')
    expect((await read(cursor, (lines) => lines.length === 1)).lines).toEqual(['a next'])
  })

  test('disk space of acknowledged lines is freed, and reading continues after it', async ({ skip }) => {
    if (process.platform !== 'linux') skip('holes require fallocate(1)')
    const count = 200_000
    const file = add('a', Array.from({ length: count }, (_, index) => `${'-'.repeat(50)} ${index}\n`).join(''))
    const { cursor } = await read({}, (lines) => lines.length === count)
    await vi.waitFor(() => expect(statSync(file).blocks * 512).toBeLessThan(5 * MIB), { timeout: 5000 })
    expect(statSync(file).size).toBeGreaterThan(10 * MIB)
    appendFileSync(file, 'new\n')
    expect((await read(cursor, (lines) => lines.length > 0)).lines).toEqual(['a new'])
    expect(lastLines(file, 2)).toEqual([`${'-'.repeat(50)} ${count - 1}`, 'new'])
    // A reader without a cursor gets complete lines of the kept part.
    const again = await read({}, (lines) => lines.at(-1) === 'a new')
    expect(again.lines[0]).toMatch(/^a -{50} \d+$/)
  })

  test('the oldest part of an excessive backlog is dropped, which the log reports', async () => {
    const file = add('a', 'first\n')
    const { cursor } = await read({}, (lines) => lines.length === 1)
    truncateSync(file, 1500 * MIB)
    appendFileSync(file, '\nlast\n')
    const { lines } = await read(cursor, (lines) => lines.at(-1) === 'a last')
    expect(lines[0]).toMatch(/^a \d+ MiB of log were dropped here/)
  })

  test('the log of a removed container is kept until it was read, also across a restart', async () => {
    const file = add('a', 'one\ntwo\n')
    const { cursor } = await read({}, (lines) => lines.length === 2)
    appendFileSync(file, 'three\n')
    store.end('a')
    store.end('a')
    expect(existsSync(file)).toBe(false)
    store = new LogStore(join(dir, 'unread'))
    const rest = await read(cursor, (_, cursor) => cursor['a'] === '')
    expect(rest.lines).toEqual(['a three'])
    expect(readdirSync(join(dir, 'unread'))).toEqual([])
  })

  test('a line is delivered within 200 ms', async () => {
    const file = add('a', '')
    const delays: number[] = []
    const stop = new AbortController()
    setTimeout(() => appendFileSync(file, `${Date.now()}\n`), 50)
    for await (const batch of store.read({}, stop.signal)) {
      delays.push(...batch.lines.map((line) => Date.now() - Number(line.text)))
      if (delays.length < 5) setTimeout(() => appendFileSync(file, `${Date.now()}\n`), 30)
      else stop.abort()
    }
    // The median, so that a single pause of a busy machine does not matter.
    expect(delays.sort((a, b) => a - b)[2]).toBeLessThan(200)
  })
})
