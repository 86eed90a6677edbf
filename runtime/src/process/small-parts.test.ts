import fc from 'fast-check'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backoffMs, consecutiveCrashes } from '../backoff.ts'
import { outOfSpaceMessage } from '../exit-message.ts'
import { openCgroup } from './cgroup.ts'
import { idOfFileName, fileNameOf } from './container-record.ts'
import { launchScript } from './launch-script.ts'
import { LineSplitter } from './lines.ts'
import { findProcess, isSameProcess } from './processes.ts'
import { ContainerSockets } from './sockets.ts'
import { uidFor } from './uids.ts'

describe('parts of the process driver', () => {
  let dir: string

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'shoal-parts-'))
  })

  afterEach(() => rmSync(dir, { recursive: true }))

  test('the backoff after crashes doubles up to five minutes, and a run of ten minutes resets it', () => {
    expect([1, 2, 3, 8, 9, 10, 1000].map(backoffMs)).toEqual([1000, 2000, 4000, 128_000, 256_000, 300_000, 300_000])
    expect(consecutiveCrashes(5, 599_999)).toBe(6)
    expect(consecutiveCrashes(5, 600_000)).toBe(1)
  })

  test('the message of a run that ended for lack of disk space names the limit, if there is one', () => {
    const text = 'It ended with exit code 1 because there was no space left for its files'
    expect(outOfSpaceMessage('It ended with exit code 1', 64 * 2 ** 20)).toBe(`${text}: they may use 67 MB`)
    expect(outOfSpaceMessage('It ended with exit code 1', 0)).toBe(text)
  })

  test('installations with different numbers never have the same uid', () => {
    const [first, second] = [join(dir, 'first.json'), join(dir, 'second.json')]
    const uids = [uidFor(first, 'one', 0), uidFor(first, 'two', 0), uidFor(second, 'one', 1), uidFor(second, 'two', 1)]
    expect(new Set(uids).size).toBe(4)
    // These uids were recorded before uids were divided among installations.
    writeFileSync(second, JSON.stringify({ one: 200_000, two: 200_001 }))
    expect([uidFor(second, 'one', 1), uidFor(second, 'two', 1)]).toEqual([300_000, 300_001])
    expect(uidFor(second, 'one', 1)).toBe(300_000)
  })

  test('each key has its own permanent uid', () => {
    const file = join(dir, 'uids.json')
    const first = uidFor(file, 'one')
    expect(uidFor(file, '__proto__')).toBe(first + 1)
    expect(uidFor(file, 'two')).toBe(first + 2)
    expect(uidFor(file, 'one')).toBe(first)
    expect(uidFor(file, '__proto__')).toBe(first + 1)
    writeFileSync(file, 'x')
    expect(() => uidFor(file, 'three')).toThrow('is damaged')
  })

  test('processes that allocate from one file at the same time never get the same uid', async () => {
    const file = join(dir, 'uids.json')
    const count = 100
    // Each process waits for the start file, so that all allocate at the same time.
    const source = `
      const { existsSync } = await import('node:fs')
      const { uidFor } = await import(${JSON.stringify(join(import.meta.dirname, 'uids.ts'))})
      const [file, name] = process.argv.slice(1)
      console.log('ready')
      while (!existsSync(file + '.start')) await new Promise((done) => setTimeout(done, 1))
      const uids = Array.from({ length: ${count} }, (_, n) => uidFor(file, name + n))
      console.log(JSON.stringify(uids))`
    const processes = ['a', 'b', 'c'].map((name) => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', source, file, name], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let output = ''
      child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
      return { child, ready: once(child.stdout, 'data'), ended: once(child, 'close').then(() => output) }
    })
    await Promise.all(processes.map(({ ready }) => ready))
    writeFileSync(`${file}.start`, '')
    const outputs = await Promise.all(processes.map(({ ended }) => ended))
    const uids = outputs.flatMap((output) => JSON.parse(output.split('\n')[1] ?? '') as number[])
    expect(uids).toHaveLength(3 * count)
    expect(new Set(uids).size).toBe(3 * count)
    const recorded = Object.values(JSON.parse(readFileSync(file, 'utf8')) as Record<string, number>)
    expect(new Set(recorded)).toEqual(new Set(uids))
  })

  test('the socket directory of a server is removed without affecting others', () => {
    const [firstSockets, secondSockets] = [
      new ContainerSockets({ label: 'test-first' }),
      new ContainerSockets({ label: 'test-second' }),
    ]
    firstSockets.clear()
    expect([firstSockets, secondSockets].map(({ root }) => existsSync(root))).toEqual([false, true])
    secondSockets.clear()
    expect(existsSync(secondSockets.root)).toBe(false)
  })

  test('the file name of an id never points outside its directory', () => {
    for (const id of ['..', '.', '../x', 'a/b', '.hidden', 'org-squid-1', 'ü %']) {
      expect(fileNameOf(id)).not.toMatch(/^\.|\//)
      expect(idOfFileName(fileNameOf(id))).toBe(id)
    }
  })

  test('lines are the same at any chunk boundary', () => {
    const text = 'one\r\nzwölf €\n\nlast'
    for (let at = 0; at <= Buffer.from(text).length; at++) {
      const splitter = new LineSplitter()
      const chunks = [Buffer.from(text).subarray(0, at), Buffer.from(text).subarray(at)]
      expect([...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.flush()]).toEqual([
        'one',
        'zwölf €',
        '',
        'last',
      ])
    }
  })

  test('every line is either delivered or counted as dropped, at any chunk boundary', () => {
    const line = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 4 })
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 30 }),
        fc.integer({ min: 1, max: 9 }),
        fc.infiniteStream(fc.boolean()),
        (lines, chunkBytes, admissions) => {
          const admits = () => admissions.next().value
          const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''))
          const splitter = new LineSplitter()
          const delivered: string[] = []
          let dropped = 0
          for (let at = 0; at < bytes.length; at += chunkBytes) {
            const part = splitter.pushAdmitted(bytes.subarray(at, at + chunkBytes), admits)
            delivered.push(...part.lines)
            dropped += part.droppedLines
          }
          expect(delivered.length + dropped).toBe(lines.length)
          let position = 0
          for (const text of delivered) position = lines.indexOf(text, position) + 1 || Infinity
          expect(position).toBeLessThanOrEqual(lines.length)
        },
      ),
    )
  })

  test('environment and arguments are passed unchanged', async () => {
    const env = { PLAIN: 'it\'s $HOME `x` \\ \n"', 'odd.name': 'odd', OPTIND: 'odd', EMPTY: '' }
    const show = 'console.log(JSON.stringify([process.argv[1], process.env, process.cwd()]))'
    const script = launchScript({
      command: [process.execPath, '-e', show, "a'b $c"],
      env,
      cwd: dir,
      ownsUid: false,
      maxFileBytes: null,
    })
    const shell = spawn('/bin/sh', ['-s'], { env: {} })
    shell.stdin.end(script)
    const [output] = await once(shell.stdout, 'data')
    expect(JSON.parse(String(output))).toEqual(["a'b $c", { ...env, PWD: dir }, dir])
  })

  test('a process is distinguished from a later one with the same pid', () => {
    const self = findProcess(process.pid)
    expect(self).toMatchObject({ pid: process.pid, parent: process.ppid })
    expect(self?.memoryBytes).toBeGreaterThan(1024 * 1024)
    expect(isSameProcess(process.pid, self?.startedAt ?? '')).toBe(true)
    expect(isSameProcess(process.pid, 'earlier')).toBe(false)
    expect(findProcess(2 ** 22)).toBeNull()
  })

  /** Simulates the kernel's files of cgroup v2 as documented, since test hosts may not have that version. */
  test('cgroup v2 is written and read as the kernel documents it', () => {
    const cgroup = openCgroup({ version: 2, unified: dir }, 'container')
    mkdirSync(join(dir, 'container'))
    cgroup.create({ cpuCores: 0.2, memoryBytes: 1024 })
    const read = (name: string) => readFileSync(join(dir, 'container', name), 'utf8')
    expect(read('memory.max')).toBe('1024')
    expect(read('memory.swap.max')).toBe('0')
    expect(read('cpu.max')).toBe('20000 100000')
    const files = {
      'cpu.stat': 'usage_usec 2500000\nuser_usec 2000000\nnr_throttled 3\nthrottled_usec 1500000\n',
      'memory.current': '5000\n',
      'memory.stat': 'anon 3000\ninactive_file 1200\n',
      'memory.events': 'low 0\nmax 3\noom 2\noom_kill 1\n',
      'cgroup.procs': '12\n13\n',
    }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, 'container', name), text)
    expect(cgroup.usage()).toEqual({ cpuSeconds: 2.5, throttledSeconds: 1.5, memoryBytes: 3800, oomKills: 1 })
    expect(cgroup.processes()).toEqual([12, 13])
    expect(openCgroup({ version: 2, unified: dir }, 'removed').usage()).toBeNull()
    expect(openCgroup({ version: 2, unified: dir }, 'removed').processes()).toEqual([])
  })
})
