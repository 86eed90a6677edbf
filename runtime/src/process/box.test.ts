import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type BoxRun, endBoxes, runInBox } from './box.ts'
import { type Host, prepareHost } from './host.ts'
import { removeCgroupBase } from './cgroup.ts'
import { describeKinds, noteHost } from './host-harness.ts'
import { markOf } from './launch-script.ts'
import { listProcesses, startEnvironment } from './processes.ts'

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
    noteHost(host)
  })

  afterEach(async () => {
    await endBoxes(host, '')
    if (host.cgroups) await removeCgroupBase(host.cgroups)
    rmSync(stateDir, { recursive: true })
  })

  type Overrides = Partial<BoxRun> & { script?: string }

  const run = async ({ script = '', ...overrides }: Overrides) => {
    const lines: string[] = []
    const result = await runInBox(host, {
      name: 'box-1',
      command: [NODE, '-e', script],
      env: { PATH: '/usr/bin:/bin', GREETING: "it's\n$HOME" },
      cwd: '/',
      uid: host.uidOf('tenant'),
      readableDirs: [join(NODE, '../..')],
      writableDirs: [],
      resources: { cpuCores: 1, memoryBytes: 256 * MIB },
      timeMs: 10_000,
      signal: new AbortController().signal,
      onLine: (text, stream) => lines.push(`${stream}: ${text}`),
      ...overrides,
    })
    return { ...result, lines }
  }

  test('returns the exit code and every line, including an unterminated last one', async () => {
    const { exitCode, lines } = await run({
      script: 'console.log("out"); console.error("err"); process.stdout.write("last"); process.exitCode = 3',
    })
    expect(exitCode).toBe(3)
    expect(lines.toSorted()).toEqual(['stderr: err', 'stdout: last', 'stdout: out'])
  })

  test('passes only the given environment to the program', async () => {
    process.env['OUR_PASSWORD'] = 'hidden'
    const { lines } = await run({ script: 'console.log(JSON.stringify(process.env))' })
    delete process.env['OUR_PASSWORD']
    const env = JSON.parse(lines[0]?.replace('stdout: ', '') ?? '')
    expect(env).toMatchObject({ GREETING: "it's\n$HOME", PATH: '/usr/bin:/bin', SHOAL_BOX: `${host.label}/box-1` })
    expect(env).not.toHaveProperty('OUR_PASSWORD')
  })

  test('reports a missing command', async () => {
    const { exitCode, lines } = await run({ command: ['no-such-command'] })
    expect(exitCode).toBe(127)
    expect(lines.join()).toContain('no-such-command')
  })

  test('leaves no process of the tree running', async () => {
    const stubborn = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'
    const { exitCode } = await run({
      script: `const child = require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(stubborn)}], { detached: true, stdio: "inherit" }); child.unref()`,
    })
    expect(exitCode).toBe(0)
    expect(listProcesses().filter(({ pid }) => markOf(startEnvironment(pid)) === `${host.label}/box-1`)).toEqual([])
  })

  test('is killed at the time limit', async () => {
    const { timedOut, exitCode } = await run({ script: 'setInterval(() => {}, 1000)', timeMs: 300 })
    expect({ timedOut, exitCode }).toEqual({ timedOut: true, exitCode: 137 })
  })

  test('is killed when aborted, also before it has started', async () => {
    const { aborted } = await run({ script: 'setInterval(() => {}, 1000)', signal: AbortSignal.abort() })
    expect(aborted).toBe(true)
  })

  test('writes only to writable folders, as a separate user', async ({ skip }) => {
    if (!isRoot) skip('needs root')
    const uid = host.uidOf('tenant') ?? 0
    const own = join(stateDir, 'own')
    const foreign = join(stateDir, 'foreign')
    mkdirSync(own, { mode: 0o777 })
    chmodSync(own, 0o777)
    mkdirSync(foreign, { mode: 0o700 })
    writeFileSync(join(foreign, 'secret'), 'secret')
    const attempt = (code: string) => `try { ${code}; console.log("done") } catch (e) { console.log(e.code) }`
    const { lines } = await run({
      script: [
        attempt(`fs.writeFileSync(${JSON.stringify(join(own, 'file'))}, "x")`),
        attempt(`fs.writeFileSync("/usr/shoal-was-here", "x")`).replace('e.code', '"refused"'),
        attempt(`fs.readFileSync(${JSON.stringify(join(foreign, 'secret'))})`).replace('e.code', '"refused"'),
        'console.log(process.getuid())',
        'console.log(fs.readFileSync("/proc/self/status", "utf8").match(/CapEff:\\s*(\\S+)/)[1])',
      ].join('\n'),
      writableDirs: [own],
    })
    expect(lines.map((line) => line.replace('stdout: ', ''))).toEqual([
      'done',
      'refused',
      'refused',
      String(uid),
      '0000000000000000',
    ])
  })

  test('reports that it was killed for exceeding its memory limit', async ({ skip }) => {
    if (!host.cgroups) skip('cgroups cannot be created on this host')
    const { outOfMemory, exitCode } = await run({
      script: 'const all = []; for (;;) all.push(Buffer.alloc(1024 * 1024, 1))',
      resources: { cpuCores: 1, memoryBytes: 96 * MIB },
    })
    expect({ outOfMemory, exitCode }).toEqual({ outOfMemory: true, exitCode: 137 })
  })
})
