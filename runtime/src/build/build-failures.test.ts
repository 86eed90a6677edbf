import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { BuildFailure } from '../builder.ts'
import { explainStepFailure, explainBuilderError } from './build-failures.ts'
import { type BuilderHarness, LIMITS, LOCKFILES, PACKAGE_JSON, TINY, openBuilderHarness } from './builder-harness.ts'

const NPM = { ...TINY, ...LOCKFILES.npm }
const script = (code: string) => ['node', '-e', code]

describe('a failed build reports the cause and the remedy:', () => {
  let harness: BuilderHarness

  beforeAll(async () => {
    harness = await openBuilderHarness()
    // Later tests use the cached dependencies.
    await harness.build(NPM)
  }, 120_000)

  afterAll(() => harness.dispose())

  afterEach(async () => {
    // No incomplete files remain: staging folders are either moved or deleted.
    await expect.poll(() => readdirSync(join(harness.stateDir, 'builds/staging'))).toEqual([])
  })

  test('no package.json', async () => {
    const { error } = await harness.fail(LOCKFILES.npm)
    expect(error).toMatchObject({
      kind: 'REQUIRED_SOURCE_FILE_MISSED',
      message: expect.stringContaining('package.json'),
    })
  })

  test('no lockfile', async () => {
    const { error } = await harness.fail(TINY)
    expect(error).toMatchObject({
      kind: 'REQUIRED_SOURCE_FILE_MISSED',
      message: expect.stringContaining('npm install'),
    })
  })

  test.each([
    ['npm', LOCKFILES.npm, 'npm install'],
    ['pnpm', LOCKFILES.pnpm, 'pnpm install'],
    ['yarn classic', LOCKFILES['yarn classic'], 'yarn install'],
    ['yarn berry', LOCKFILES['yarn berry'], 'yarn install'],
  ])('a lockfile that does not match package.json: %s', async (_, lockfile, command) => {
    const packageJson = { ...PACKAGE_JSON, dependencies: { ms: '2.1.3', once: '1.4.0' } }
    const { error } = await harness.fail({ ...TINY, ...lockfile, 'package.json': JSON.stringify(packageJson) })
    expect(error).toMatchObject({
      kind: 'REQUIRED_SOURCE_FILE_INVALID',
      message: expect.stringMatching(new RegExp(`does not match package.json. Run \`${command}\``)),
    })
  })

  test('a failing install', async () => {
    const { error } = await harness.fail(NPM, {
      installCommand: script('console.error("no such thing"); process.exit(3)'),
    })
    expect(error).toMatchObject({ kind: 'SOURCE_FILES_BUILD_FAILED' })
    expect(String(error)).toMatch(/exit code 3: the dependencies were not installed\.\nno such thing/)
  })

  test('a failing build script, with the end of its output; only the log has the colours', async () => {
    const failing =
      'for (let i = 0; i < 50; i++) console.log("line " + i); console.log("\\x1b[31msrc/main.ts(3,1): error TS1005\\x1b[0m"); process.exit(2)'
    const { error, log } = await harness.fail({ ...NPM, 'build.js': failing })
    expect(error).toMatchObject({ kind: 'SOURCE_FILES_BUILD_FAILED' })
    expect(String(error)).toMatch(
      /npm run build ended with exit code 2\.\n[^]*line 49\nsrc\/main\.ts\(3,1\): error TS1005/,
    )
    expect(String(error)).not.toContain('line 30')
    expect(log).toEqual(
      expect.arrayContaining(['line 0', 'line 49', '\u001b[31msrc/main.ts(3,1): error TS1005\u001b[0m']),
    )
  })

  test('a missing command', async () => {
    const { error } = await harness.fail(NPM, { buildCommand: ['nest', 'build'] })
    expect(String(error)).toContain('there is no such command')
  })

  const limits = { ...LIMITS, memoryBytes: 150e6 }

  test('the heap runs out of memory', async () => {
    const buildCommand = script('for (const all = []; ; ) all.push({ x: [all.length] })')
    const { error } = await harness.fail(NPM, { limits, buildCommand })
    expect(error).toMatchObject({ kind: 'SOURCE_FILES_BUILD_FAILED' })
    expect(String(error)).toContain('ran out of memory: a build may use 150 MB')
  })

  test('memory outside of the heap exceeds the limit', async ({ skip }) => {
    skip(harness.host.cgroups === null, 'cgroups cannot be created on this host')
    const buildCommand = script('for (const all = []; ; ) all.push(Buffer.alloc(1e6, 1))')
    const { error } = await harness.fail(NPM, { limits, buildCommand })
    expect(String(error)).toContain('ran out of memory: a build may use 150 MB')
  })

  test('the build exceeds its time limit', async () => {
    const limits = { ...LIMITS, timeMs: 1500 }
    const { error } = await harness.fail(NPM, {
      limits,
      buildCommand: script('console.log("waiting for x"); setInterval(() => {}, 1e6)'),
    })
    expect(error).toMatchObject({ kind: 'SOURCE_FILES_BUILD_FAILED' })
    expect(String(error)).toMatch(/was stopped: a build may take 0 min|waiting for x/)
  })

  test('a cancelled build rejects with the reason of the signal', async () => {
    const cancel = new AbortController()
    const { error } = await harness.fail(NPM, {
      buildCommand: script('console.log("running"); setInterval(() => {}, 1e6)'),
      signal: cancel.signal,
      log: (_, message) => {
        if (message === 'running') cancel.abort(new Error('another deployment took over'))
      },
    })
    expect(error).toMatchObject({ message: 'another deployment took over' })
  })

  test('an unsupported version of Node', async () => {
    const { error } = await harness.fail(NPM, { nodeVersion: '16' })
    expect(error).toMatchObject({ kind: 'REQUIREMENTS', message: expect.stringContaining('18, 20') })
  })

  test('excessive output is truncated in the log', async () => {
    const flood = script(
      'for (let i = 0; i < 60000; i++) console.log("x".repeat(100)); console.log("the end"); process.exitCode = 1',
    )
    const { error, log } = await harness.fail(NPM, { buildCommand: flood })
    expect(log.length).toBeLessThan(25_000)
    expect(log.at(-1)).toContain('further output is omitted')
    expect(String(error)).toContain('the end')
  })
})

describe('messages of package managers and of the system', () => {
  const result = { exitCode: 1, outOfMemory: false, timedOut: false, aborted: false }
  const manager = {
    kind: 'npm',
    name: 'npm',
    tool: null,
    lockfile: { name: 'package-lock.json', text: '' },
    notes: [],
  } as const
  const kindOf = (step: 'install' | 'build', line: string) =>
    explainStepFailure({
      step,
      command: 'x',
      result,
      tail: [line],
      limits: LIMITS,
      hasOwnDisk: false,
      manager: { ...manager, notes: [] },
    }).kind

  test.each([
    ['install', 'npm error network request to https://x/y failed, reason: getaddrinfo ENOTFOUND x', 'UNEXPECTED'],
    ['install', 'error An unexpected error occurred: "https://x/y: ETIMEDOUT"', 'UNEXPECTED'],
    ['install', 'ERR_PNPM_FETCH_503  GET https://x/y: 503 Service Unavailable', 'UNEXPECTED'],
    ['install', 'npm error 404 Not Found - GET https://x/nothing', 'SOURCE_FILES_BUILD_FAILED'],
    ['build', 'Error: connect ECONNREFUSED 127.0.0.1:5432', 'SOURCE_FILES_BUILD_FAILED'],
    ['build', 'npm error ENOSPC: no space left on device, write', 'UNEXPECTED'],
    ['install', 'ERR_PNPM_BROKEN_LOCKFILE  The lockfile is broken', 'REQUIRED_SOURCE_FILE_INVALID'],
    ['install', 'error Invalid value type 1:0 in /build/app/yarn.lock', 'REQUIRED_SOURCE_FILE_INVALID'],
  ] as const)('%s: “%s” is classified as %s', (step, line, kind) => {
    expect(kindOf(step, line)).toBe(kind)
  })

  test('an install cannot make the server search its output for long', () => {
    const line = `${'Invalid value type'.repeat(100)}${'in'.repeat(1_100)}`
    const lines = Array.from({ length: 100 }, () => line)
    expect(lines.map((text) => kindOf('install', text))).toEqual(lines.map(() => 'SOURCE_FILES_BUILD_FAILED'))
  }, 15_000)

  test('a full disk while the builder itself writes is not reported as the squid’s failure', () => {
    expect(explainBuilderError(Object.assign(new Error('write'), { code: 'ENOSPC' }))).toMatchObject({
      kind: 'UNEXPECTED',
    })
    const copying = new Error("Command failed: cp -a -- a b\ncp: error writing 'b/c': No space left on device")
    expect(explainBuilderError(copying)).toMatchObject({
      kind: 'UNEXPECTED',
      message: expect.not.stringContaining('cp'),
    })
    const other = new Error('other')
    expect(explainBuilderError(other)).toBe(other)
    const failure = new BuildFailure('SOURCE_FILES_BUILD_FAILED', 'x ran out of disk space.\nNo space left on device')
    expect(explainBuilderError(failure)).toBe(failure)
  })
})
