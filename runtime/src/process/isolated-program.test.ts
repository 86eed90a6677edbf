import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type IsolatedRun, endIsolatedPrograms, runIsolated } from './isolated-program.ts'
import { type Host, prepareHost } from './host.ts'
import { removeCgroupBase } from './cgroup.ts'
import { describeKinds, recordIsolation } from './host-harness.ts'
import { markOf } from './launch-script.ts'
import { listProcesses, initialEnvironment } from './processes.ts'

const NODE = process.execPath
const MIB = 1024 * 1024
const isRoot = process.getuid?.() === 0

const kinds = [
  { sandbox: 'auto', limits: 'auto' },
  { sandbox: 'none', limits: 'auto' },
  { sandbox: 'auto', limits: 'none' },
  { sandbox: 'none', limits: 'none' },
] as const

describeKinds(kinds, (kind) => {
  let host: Host
  let stateDir: string

  beforeEach(async () => {
    stateDir = mkdtempSync(join(tmpdir(), 'shoal-box-'))
    host = await prepareHost({ stateDir, ...kind })
    recordIsolation(host)
  })

  afterEach(async () => {
    await endIsolatedPrograms(host, '')
    if (host.cgroups) await removeCgroupBase(host.cgroups)
    rmSync(stateDir, { recursive: true })
  })

  type Overrides = Partial<IsolatedRun> & { script?: string }

  const run = async ({ script = '', ...overrides }: Overrides) => {
    const lines: string[] = []
    const result = await runIsolated(host, {
      name: 'box-1',
      command: [NODE, '-e', script],
      env: { PATH: '/usr/bin:/bin', GREETING: "it's\n$HOME" },
      cwd: '/',
      uid: host.uidOf('tenant'),
      readableDirs: [join(NODE, '../..')],
      writableDirs: [],
      maxFileBytes: null,
      resources: { cpuCores: 1, memoryBytes: 256 * MIB },
      timeMs: 10_000,
      signal: new AbortController().signal,
      onLine: (text, stream) => lines.push(`${stream}: ${text}`),
      ...overrides,
    })
    return { ...result, lines }
  }

  test('a run returns the exit code and every line, including an unterminated last line', async () => {
    const { exitCode, lines } = await run({
      script: 'console.log("out"); console.error("err"); process.stdout.write("last"); process.exitCode = 3',
    })
    expect(exitCode).toBe(3)
    expect(lines.toSorted()).toEqual(['stderr: err', 'stdout: last', 'stdout: out'])
  })

  test('a program receives only the given environment', async () => {
    process.env['SERVER_PASSWORD'] = 'hidden'
    const { lines } = await run({ script: 'console.log(JSON.stringify(process.env))' })
    delete process.env['SERVER_PASSWORD']
    const env = JSON.parse(lines[0]?.replace('stdout: ', '') ?? '')
    expect(env).toMatchObject({ GREETING: "it's\n$HOME", PATH: '/usr/bin:/bin', SHOAL_BOX: `${host.label}/box-1` })
    expect(env).not.toHaveProperty('SERVER_PASSWORD')
  })

  test('a missing command is reported with code 127', async () => {
    const { exitCode, lines } = await run({ command: ['no-such-command'] })
    expect(exitCode).toBe(127)
    expect(lines.join()).toContain('no-such-command')
  })

  test('no process of the program remains after its end', async () => {
    const stubborn = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'
    const { exitCode } = await run({
      script: `const child = require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(stubborn)}], { detached: true, stdio: "inherit" }); child.unref()`,
    })
    expect(exitCode).toBe(0)
    expect(listProcesses().filter(({ pid }) => markOf(initialEnvironment(pid)) === `${host.label}/box-1`)).toEqual([])
  })

  test('a program is killed at its time limit', async () => {
    const { timedOut, exitCode } = await run({ script: 'setInterval(() => {}, 1000)', timeMs: 300 })
    expect({ timedOut, exitCode }).toEqual({ timedOut: true, exitCode: 137 })
  })

  test('a program is killed when its signal is aborted, even if it was aborted before the start', async () => {
    const { aborted } = await run({ script: 'setInterval(() => {}, 1000)', signal: AbortSignal.abort() })
    expect(aborted).toBe(true)
  })

  test('a program runs as a separate user that can write only to writable folders', async ({ skip }) => {
    if (!isRoot) skip('needs root')
    const uid = host.uidOf('tenant') ?? 0
    const ownDir = join(stateDir, 'own')
    const foreignDir = join(stateDir, 'foreign')
    mkdirSync(ownDir, { mode: 0o777 })
    chmodSync(ownDir, 0o777)
    mkdirSync(foreignDir, { mode: 0o700 })
    writeFileSync(join(foreignDir, 'secret'), 'secret')
    const attempt = (code: string) => `try { ${code}; console.log("done") } catch (e) { console.log(e.code) }`
    const { lines } = await run({
      script: [
        attempt(`fs.writeFileSync(${JSON.stringify(join(ownDir, 'file'))}, "x")`),
        attempt(`fs.writeFileSync("/usr/shoal-test", "x")`).replace('e.code', '"denied"'),
        attempt(`fs.readFileSync(${JSON.stringify(join(foreignDir, 'secret'))})`).replace('e.code', '"denied"'),
        'console.log(process.getuid())',
        'console.log(fs.readFileSync("/proc/self/status", "utf8").match(/CapEff:\\s*(\\S+)/)[1])',
      ].join('\n'),
      writableDirs: [ownDir],
    })
    expect(lines.map((line) => line.replace('stdout: ', ''))).toEqual([
      'done',
      'denied',
      'denied',
      String(uid),
      '0000000000000000',
    ])
  })

  test('a program that exceeds its memory limit is killed and reported as out of memory', async ({ skip }) => {
    if (!host.cgroups) skip('cgroups cannot be created on this host')
    const { outOfMemory, exitCode } = await run({
      script: 'const all = []; for (;;) all.push(Buffer.alloc(1024 * 1024, 1))',
      resources: { cpuCores: 1, memoryBytes: 96 * MIB },
    })
    expect({ outOfMemory, exitCode }).toEqual({ outOfMemory: true, exitCode: 137 })
  })

  test('a process can open at most 8192 files', async () => {
    const { lines } = await run({
      script: `const opened = []
        try { for (;;) opened.push(fs.openSync('/dev/null')) } catch (error) { console.log(error.code, opened.length) }`,
    })
    const [code, count] = (lines[0] ?? '').replace('stdout: ', '').split(' ')
    expect(code).toBe('EMFILE')
    expect(Number(count)).toBeGreaterThan(1000)
    expect(Number(count)).toBeLessThan(8192)
  })

  test('a user can start only a limited number of processes, even without cgroups', async ({ skip }) => {
    if (!isRoot) skip('without root, programs have no separate users')
    const { lines } = await run({
      command: [
        'perl',
        '-e',
        'while (defined($pid = fork())) { if ($pid) { $count++ } else { sleep 60 } } print "$! $count\\n"',
      ],
    })
    expect(lines.join()).toMatch(/Resource temporarily unavailable \d+$/)
    expect(Number(lines[0]?.split(' ').at(-1))).toBeLessThan(host.cgroups ? 512 : 2048)
  })

  test('files in /tmp are limited to a quarter of the memory limit, and a full /tmp is not reported as out of memory', async ({
    skip,
  }) => {
    if (!host.bwrapFeatures.limitsTmp) skip('bubblewrap cannot limit its size')
    const { exitCode, outOfMemory, lines } = await run({
      script: `let written = 0
        try { for (;; written++) fs.writeFileSync('/tmp/' + written, Buffer.alloc(1 << 20, 1)) }
        catch (error) { console.log(error.code, written) }`,
    })
    expect({ exitCode, outOfMemory }).toEqual({ exitCode: 0, outOfMemory: false })
    const [code, count] = (lines[0] ?? '').replace('stdout: ', '').split(' ')
    expect(code).toBe('ENOSPC')
    expect(Number(count)).toBeGreaterThan(60)
    expect(Number(count)).toBeLessThanOrEqual(65)
  })

  test('in the sandbox, a program can write only to /tmp and its writable folders', async ({ skip }) => {
    if (host.sandbox === 'none') skip('needs bubblewrap')
    const { lines } = await run({
      script: `for (const path of ['/file', '/etc/file', '/dev/file', '/dev/shm/file', '/run/file', '/tmp/file'])
        try { fs.writeFileSync(path, 'x'); console.log(path, 'written') } catch (error) { console.log(path, error.code) }`,
    })
    expect(lines.filter((line) => line.includes('written'))).toEqual(['stdout: /tmp/file written'])
    expect(lines).toHaveLength(6)
  })
})
