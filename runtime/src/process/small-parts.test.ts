import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backoffMs, crashesInARow } from '../backoff.ts'
import { openCgroup } from './cgroup.ts'
import { idOf, nameOf } from './container-record.ts'
import { launchScript } from './launch-script.ts'
import { LineSplitter } from './lines.ts'
import { findProcess, isSameProcess } from './processes.ts'
import { Sockets } from './sockets.ts'
import { uidFor } from './uids.ts'

describe('parts of the process driver', () => {
  let dir: string

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'shoal-parts-'))
  })

  afterEach(() => rmSync(dir, { recursive: true }))

  test('the backoff after crashes doubles up to five minutes, and is reset after ten stable minutes', () => {
    expect([1, 2, 3, 8, 9, 10, 1000].map(backoffMs)).toEqual([1000, 2000, 4000, 128_000, 256_000, 300_000, 300_000])
    expect(crashesInARow(5, 599_999)).toBe(6)
    expect(crashesInARow(5, 600_000)).toBe(1)
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

  test('the socket directory of a server is removed without affecting others', () => {
    const [mine, other] = [new Sockets({ label: 'test-mine' }), new Sockets({ label: 'test-other' })]
    mine.clear()
    expect([mine, other].map(({ root }) => existsSync(root))).toEqual([false, true])
    other.clear()
    expect(existsSync(other.root)).toBe(false)
  })

  test('no id escapes its directory', () => {
    for (const id of ['..', '.', '../x', 'a/b', '.hidden', 'org-squid-1', 'ü %']) {
      expect(nameOf(id)).not.toMatch(/^\.|\//)
      expect(idOf(nameOf(id))).toBe(id)
    }
  })

  test('lines are split correctly at any piece boundary', () => {
    const text = 'one\r\nzwölf €\n\nlast'
    for (let at = 0; at <= Buffer.from(text).length; at++) {
      const splitter = new LineSplitter()
      const pieces = [Buffer.from(text).subarray(0, at), Buffer.from(text).subarray(at)]
      expect([...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.flush()]).toEqual([
        'one',
        'zwölf €',
        '',
        'last',
      ])
    }
  })

  test('environment and arguments are passed unchanged', async () => {
    const env = { PLAIN: 'it\'s $HOME `x` \\ \n"', 'odd.name': 'odd', OPTIND: 'odd', EMPTY: '' }
    const show = 'console.log(JSON.stringify([process.argv[1], process.env, process.cwd()]))'
    const script = launchScript({ command: [process.execPath, '-e', show, "a'b $c"], env, cwd: dir })
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
    const cgroup = openCgroup({ version: 2, unified: dir }, 'box')
    mkdirSync(join(dir, 'box'))
    cgroup.create({ cpuCores: 0.2, memoryBytes: 1024 })
    const read = (name: string) => readFileSync(join(dir, 'box', name), 'utf8')
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
    for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, 'box', name), text)
    expect(cgroup.usage()).toEqual({ cpuSeconds: 2.5, throttledSeconds: 1.5, memoryBytes: 3800, oomKills: 1 })
    expect(cgroup.processes()).toEqual([12, 13])
    expect(openCgroup({ version: 2, unified: dir }, 'gone').usage()).toBeNull()
    expect(openCgroup({ version: 2, unified: dir }, 'gone').processes()).toEqual([])
  })
})
