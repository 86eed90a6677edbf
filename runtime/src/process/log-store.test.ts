import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { LogAdmission, LogBatch, LogCursor } from '../driver.ts'
import { LogStore } from './log-store.ts'
import { logEnd, logStartFile, shortenLog } from './log-start.ts'
import { lastLines, terminateLastLine } from './run-log.ts'
import { PLAIN_ENV } from './sandbox.ts'
import { until } from '../until.ts'

const MIB = 1024 * 1024

function canCollapse(file: string): boolean {
  try {
    execFileSync('fallocate', ['--collapse-range', '--length', String(MIB), file], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

type Counts = { delivered: string[]; dropped: number; isEstimate: boolean; batches: number }

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

  /** Reads until `isDone` returns true, and acknowledges all batches, including the last. */
  const read = async (from: LogCursor, isDone: (lines: string[], cursor: LogCursor) => boolean) => {
    const lines: string[] = []
    const cursor: LogCursor = { ...from }
    const controller = new AbortController()
    for await (const batch of store.read(from, controller.signal)) {
      for (const line of batch.lines) lines.push(`${line.container} ${line.text}`)
      Object.assign(cursor, batch.cursor)
      if (isDone(lines, cursor)) controller.abort()
    }
    return { lines, cursor }
  }

  test('the damaged record of an unread log is deleted, and other unread logs are delivered', async () => {
    add('kept', 'a line\n')
    store.end('kept')
    writeFileSync(join(dir, 'unread/damaged.json'), '')
    store = new LogStore(join(dir, 'unread'))
    expect(readdirSync(join(dir, 'unread'))).not.toContain('damaged.json')
    const { lines } = await read({}, (all) => all.length === 1)
    expect(lines).toEqual(['kept a line'])
  })

  test('the lines of several containers are delivered completely, in order and in few batches', async () => {
    const names = ['a', 'b', 'c', 'd']
    const count = 50_000
    const text = Array.from(
      { length: count },
      (_, index) => `{"level":2,"time":1767225600000,"ns":"sqd:processor","msg":"block ${index}"}\n`,
    ).join('')
    for (const name of names) add(name, text)
    const counts = new Map<string, number>()
    let batches = 0
    const controller = new AbortController()
    const checkBatch = ({ lines }: LogBatch) => {
      batches++
      for (const line of lines) {
        const index = counts.get(line.container) ?? 0
        if (!line.text.endsWith(`"block ${index}"}`)) throw new Error(`${line.text} is not line ${index}`)
        counts.set(line.container, index + 1)
      }
      if ([...counts.values()].every((value) => value === count) && counts.size === names.length) controller.abort()
    }
    for await (const batch of store.read({}, controller.signal)) checkBatch(batch)
    expect([...counts.values()]).toEqual(names.map(() => count))
    expect(batches).toBeLessThan(100)
  })

  test('a container with much output does not delay the others', async () => {
    add('verbose', 'x\n'.repeat(2_000_000))
    add('quiet', 'here\n')
    const { lines } = await read({}, (lines) => lines.some((line) => line.startsWith('quiet')))
    expect(lines.length).toBeLessThan(100_000)
  })

  test('a line is delivered when it is complete, with characters that were split between two writes', async () => {
    const file = add('a', 'complete\npartial ')
    const { cursor } = await read({}, (lines) => lines.length === 1)
    appendFileSync(file, Buffer.from('Ü').subarray(0, 1))
    const reading = read(cursor, (lines) => lines.length === 2)
    await new Promise((resolve) => setTimeout(resolve, 150))
    appendFileSync(file, Buffer.concat([Buffer.from('Ü').subarray(1), Buffer.from('\r\nlast')]))
    terminateLastLine(file)
    terminateLastLine(file)
    expect((await reading).lines).toEqual(['a partial Ü', 'a last'])
  })

  test('the rest of a truncated line is discarded even after a restart', async () => {
    const file = add('a', 'x'.repeat(300_000))
    const { lines, cursor } = await read({}, (lines) => lines.length === 1)
    expect(lines[0]?.length).toBeLessThan(66_000)
    appendFileSync(file, 'rest\nnext\n')
    expect((await read(cursor, (lines) => lines.length === 1)).lines).toEqual(['a next'])
  })

  test('reading continues after the disk space of acknowledged lines was freed', async ({ skip }) => {
    if (process.platform !== 'linux') skip('holes require fallocate(1)')
    const count = 200_000
    const file = add('a', Array.from({ length: count }, (_, index) => `${'-'.repeat(50)} ${index}\n`).join(''))
    const { cursor } = await read({}, (lines) => lines.length === count)
    await until(() => expect(statSync(file).blocks * 512).toBeLessThan(5 * MIB))
    expect(statSync(file).size).toBeGreaterThan(10 * MIB)
    appendFileSync(file, 'new\n')
    expect((await read(cursor, (lines) => lines.length > 0)).lines).toEqual(['a new'])
    expect(lastLines(file, 2)).toEqual([`${'-'.repeat(50)} ${count - 1}`, 'new'])
    // A reader without a cursor receives complete lines of the remaining part.
    const fromStart = await read({}, (lines) => lines.at(-1) === 'a new')
    expect(fromStart.lines[0]).toMatch(/^a -{50} \d+$/)
  })

  /** Stores logs in `parent` from now on, and lets each grow by 64 MiB while it is not read. */
  const openLimited = (parent: string) => {
    dir = parent
    store = new LogStore(join(dir, 'unread'), 64 * MIB)
  }

  /**
   * Reads numbered lines while a program writes them, which pauses while its log is longer than 48 MiB, below the limit.
   * Returns the numbers of missing and repeated lines.
   */
  const readWhileWriting = async (count: number) => {
    const file = add('a', '')
    const program = `
      const fs = require('node:fs')
      const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
      for (let from = 0; from < ${count}; from += 1000) {
        while (fs.fstatSync(1).size > ${48 * MIB}) wait()
        fs.writeSync(1, Array.from({ length: 1000 }, (_, i) => (from + i + ' ').padEnd(999, '.') + '\\n').join(''))
      }`
    const output = openSync(file, 'a')
    const writer = spawn(process.execPath, ['-e', program], { stdio: ['ignore', output, 'inherit'] })
    closeSync(output)
    let [expected, missing, repeated, maxBytes] = [0, 0, 0, 0]
    const cursor: LogCursor = {}
    const controller = new AbortController()
    for await (const batch of store.read({}, controller.signal)) {
      for (const { text } of batch.lines) {
        const number = Number.parseInt(text, 10)
        if (number > expected) missing += number - expected
        if (number < expected) repeated++
        expected = number + 1
      }
      maxBytes = Math.max(maxBytes, statSync(file).size)
      Object.assign(cursor, batch.cursor)
      if (expected === count) controller.abort()
    }
    if (writer.exitCode === null) await once(writer, 'exit')
    return { file, cursor, missing, repeated, maxBytes }
  }

  test('a log that is read stays short, without losing lines that are written at the same time', async ({ skip }) => {
    openLimited(dir)
    const probe = add('probe', 'x'.repeat(3 * MIB))
    if (!canCollapse(probe)) skip('the file system cannot remove the beginning of a file')
    const { file, cursor, missing, repeated, maxBytes } = await readWhileWriting(200_000)
    expect({ missing, repeated }).toEqual({ missing: 0, repeated: 0 })
    expect(maxBytes).toBeLessThan(52 * MIB)
    expect(lastLines(file, 1)[0]).toMatch(/^199999 /)
    appendFileSync(file, 'new\n')
    expect((await read(cursor, (lines) => lines.length > 0)).lines).toEqual(['a new'])
  })

  test.each([false, true])(
    'reading continues at the same line after the server was killed while it shortened a log (bytes removed: %s)',
    async (areBytesRemoved) => {
      openLimited(dir)
      const mark = 'a mark of 16 B. '
      const removed = `${mark}${'x'.repeat(MIB - 17)}\n`
      const file = add('a', `${areBytesRemoved ? '' : removed}old\nnew\n`)
      const removal = { removedBytes: MIB, mark: Buffer.from(mark).toString('hex') }
      writeFileSync(logStartFile(file), JSON.stringify({ removedBytes: 0, keptFrom: MIB, removal }))
      expect((await read({ a: String(MIB + 4) }, (lines) => lines.length > 0)).lines).toEqual(['a new'])
      expect(lastLines(file, 5)).toEqual(['new'])
    },
  )

  test('a log is shortened later if the program that removes bytes cannot be started', async ({ skip }) => {
    if (!canCollapse(add('probe', 'x'.repeat(3 * MIB)))) skip('the file system cannot remove the beginning of a file')
    const file = add('a', 'x'.repeat(3 * MIB))
    const shorten = () => shortenLog(() => file, { removedBytes: 0, keptFrom: 2 * MIB }, 2 * MIB)
    // This file is not executable.
    writeFileSync(join(dir, 'fallocate'), '')
    // The program is searched for in the environment that it receives, which is not that of the server.
    const { PATH } = PLAIN_ENV
    PLAIN_ENV.PATH = dir
    try {
      await expect(shorten()).rejects.toThrow('EACCES')
    } finally {
      PLAIN_ENV.PATH = PATH
    }
    expect(await shorten()).toEqual({ removedBytes: 2 * MIB, keptFrom: 2 * MIB })
  })

  test('if the beginning of a file cannot be removed, a log that was read is emptied', async ({ skip }) => {
    const parent = join(dir, 'tmpfs')
    mkdirSync(parent)
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256m', 'tmpfs', parent], { stdio: 'ignore' })
    } catch {
      skip('a tmpfs cannot be mounted')
    }
    const outerDir = dir
    try {
      openLimited(parent)
      const { file, missing, repeated, maxBytes, cursor } = await readWhileWriting(200_000)
      expect(repeated).toBe(0)
      // What is written between the last read and the truncation is lost.
      expect(missing).toBeLessThan(20_000)
      expect(maxBytes).toBeLessThan(52 * MIB)
      appendFileSync(file, 'new\n')
      expect((await read(cursor, (lines) => lines.length > 0)).lines).toEqual(['a new'])
    } finally {
      // A lazy unmount, since a program that frees acknowledged lines may still have the file open.
      execFileSync('umount', ['--lazy', parent])
      dir = outerDir
    }
  })

  test('the oldest part of an excessive backlog is dropped, and a line in the log reports it', async () => {
    const file = add('a', 'first\n')
    const { cursor } = await read({}, (lines) => lines.length === 1)
    truncateSync(file, 1500 * MIB)
    appendFileSync(file, '\nlast\n')
    const { lines } = await read(cursor, (lines) => lines.at(-1) === 'a last')
    expect(lines[0]).toMatch(/^a \d+ MiB of log were dropped here/)
  })

  /** Reads with `admits` until `isDone` returns true for the counts of delivered and dropped lines. */
  const readAdmitted = async (admits: LogAdmission, isDone: (counts: Counts) => boolean, from: LogCursor = {}) => {
    const counts: Counts = { delivered: [], dropped: 0, isEstimate: false, batches: 0 }
    const cursor: LogCursor = { ...from }
    const controller = new AbortController()
    for await (const batch of store.read(from, controller.signal, admits)) {
      counts.batches++
      counts.delivered.push(...batch.lines.map(({ container, text }) => `${container} ${text}`))
      for (const drop of batch.dropped) {
        counts.dropped += drop.lines
        counts.isEstimate ||= drop.isEstimate
      }
      Object.assign(cursor, batch.cursor)
      if (isDone(counts)) controller.abort()
    }
    return { ...counts, cursor }
  }

  test('lines that are not admitted are dropped and counted, and the log of another container is delivered', async () => {
    add('flood', Array.from({ length: 20_000 }, (_, index) => `line ${index}\n`).join(''))
    add('quiet', 'here\n')
    let admitted = 0
    const admits: LogAdmission = ({ workload }) => workload === 'one' && ++admitted <= 100
    const { delivered, dropped, isEstimate } = await readAdmitted(admits, (counts) => counts.dropped > 0)
    expect(delivered).toEqual(Array.from({ length: 100 }, (_, index) => `flood line ${index}`))
    expect({ dropped, isEstimate }).toEqual({ dropped: 19_901, isEstimate: false })
  })

  test.each([
    ['short lines', () => 'x\n'.repeat(10_000_000)],
    ['one line without an end', () => 'x'.repeat(20_000_000)],
    ['NUL', () => '\0'.repeat(20_000_000)],
  ])('a flood of %s is dropped with few reads, up to the line that is written next', async (_, text) => {
    const file = add('flood', '')
    const reading = readAdmitted(
      () => false,
      ({ delivered, dropped }) => delivered.length > 0 || dropped > 0,
    )
    writeFileSync(file, text())
    const flood = await reading
    expect(flood.delivered).toEqual([])
    expect(flood.batches).toBeLessThan(10)
    appendFileSync(file, '\nnext\n')
    const next = await readAdmitted(
      () => true,
      ({ delivered }) => delivered.includes('flood next'),
      flood.cursor,
    )
    expect(next.delivered.at(-1)).toBe('flood next')
  })

  test('the number of lines in a large flood is estimated', async () => {
    const line = `${'x'.repeat(99)}\n`
    const file = add('flood', '')
    const reading = readAdmitted(
      () => false,
      ({ dropped }) => dropped > 0,
    )
    writeFileSync(file, line.repeat(100_000))
    const { dropped, isEstimate } = await reading
    expect(isEstimate).toBe(true)
    expect(dropped).toBeGreaterThan(90_000)
    expect(dropped).toBeLessThan(110_000)
  })

  test('lines that were written before reading began are reported as a backlog', async () => {
    const file = add('a', 'old\n')
    const backlogFlags: boolean[] = []
    const reading = readAdmitted(
      ({ isBacklog }) => backlogFlags.push(isBacklog) > 0,
      ({ delivered }) => delivered.length === 2,
    )
    await until(() => expect(backlogFlags).toHaveLength(1))
    appendFileSync(file, 'new\n')
    await reading
    expect(backlogFlags).toEqual([true, false])
  })

  test('a program that never stops writing is read with pauses, and its file stays small', async ({ skip }) => {
    if (process.platform !== 'linux') skip('holes require fallocate(1)')
    const file = add('flood', '')
    const writer = spawn('sh', ['-c', `exec yes 'a hostile line' >>'${file}'`], { detached: true })
    try {
      const before = process.cpuUsage()
      const startedAt = performance.now()
      let maxBytes = 0
      const { batches } = await readAdmitted(
        () => false,
        () => {
          maxBytes = Math.max(maxBytes, statSync(file).blocks * 512)
          return performance.now() - startedAt > 3000
        },
      )
      const { user, system } = process.cpuUsage(before)
      const elapsedMs = performance.now() - startedAt
      const written = logEnd(file)
      expect(written).toBeGreaterThan(20 * MIB)
      // The reader dropped everything, in at most 13 batches a second.
      expect(batches).toBeLessThan((13 * elapsedMs) / 1000)
      expect((user + system) / 1000 / elapsedMs).toBeLessThan(0.8)
      expect(maxBytes).toBeLessThan(written)
      await until(() => expect(statSync(file).blocks * 512).toBeLessThan(logEnd(file) / 2))
    } finally {
      if (writer.pid !== undefined) process.kill(-writer.pid, 'SIGKILL')
      await once(writer, 'exit')
    }
  })

  test('a log that its program has made huge is emptied', async () => {
    const file = add('a', 'first\n')
    const { cursor } = await read({}, (lines) => lines.length === 1)
    truncateSync(file, 65 * 1024 * MIB)
    const reading = readAdmitted(
      () => true,
      ({ delivered }) => delivered.includes('a last'),
      cursor,
    )
    await until(() => expect(statSync(file).size).toBe(0))
    appendFileSync(file, 'last\n')
    expect((await reading).delivered).toEqual(['a last'])
  })

  test('the log of a removed container is kept until it has been read, even across a restart', async () => {
    const file = add('a', 'one\ntwo\n')
    const { cursor } = await read({}, (lines) => lines.length === 2)
    appendFileSync(file, 'three\n')
    store.end('a')
    store.end('a')
    expect(existsSync(file)).toBe(false)
    store = new LogStore(join(dir, 'unread'))
    const remaining = await read(cursor, (_, cursor) => cursor['a'] === '')
    expect(remaining.lines).toEqual(['a three'])
    expect(readdirSync(join(dir, 'unread'))).toEqual([])
  })

  test('a line is delivered soon after it was written', async () => {
    const file = add('a', '')
    const delays: number[] = []
    const controller = new AbortController()
    setTimeout(() => appendFileSync(file, `${Date.now()}\n`), 50)
    for await (const batch of store.read({}, controller.signal)) {
      delays.push(...batch.lines.map((line) => Date.now() - Number(line.text)))
      if (delays.length < 5) setTimeout(() => appendFileSync(file, `${Date.now()}\n`), 30)
      else controller.abort()
    }
    // About 100 ms on a quiet machine. The median, so that pauses of a busy machine do not matter.
    expect(delays.sort((a, b) => a - b)[2]).toBeLessThan(1_000)
  })
})
