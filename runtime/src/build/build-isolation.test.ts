import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeAllKinds } from '../process/host-harness.ts'
import { listProcesses, initialEnvironment } from '../process/processes.ts'
import { type BuilderHarness, LOCKFILES, TINY, buildRequest, openBuilderHarness } from './builder-harness.ts'

const NPM = { ...TINY, ...LOCKFILES.npm }
const isRoot = process.getuid?.() === 0

/** A build script that attempts forbidden operations and reports the results. */
const PROBE = `
const fs = require('node:fs')
const attempt = (work) => { try { return work() ?? 'done' } catch (error) { return error.code } }
const targets = JSON.parse(fs.readFileSync('targets.json', 'utf8'))
fs.mkdirSync('lib', { recursive: true })
fs.writeFileSync('lib/report.json', JSON.stringify({
  env: process.env,
  uid: process.getuid(),
  cwd: process.cwd(),
  read: targets.map((path) => attempt(() => fs.statSync(path).isDirectory() ? fs.readdirSync(path) : fs.readFileSync(path, 'utf8'))),
  written: targets.map((path) => attempt(() => fs.writeFileSync(path + '/planted', 'x'))),
  poison: attempt(() => fs.writeFileSync('node_modules/ms/index.js', 'module.exports = () => "poisoned"')),
  replaced: attempt(() => { fs.rmSync('node_modules/ms/license.md'); fs.writeFileSync('node_modules/ms/license.md', 'own') }),
}))
fs.symlinkSync('/etc/passwd', 'lib/link')
attempt(() => fs.chmodSync('lib/report.json', 0o4777))
`

const kinds = [{ sandbox: 'auto' }, { sandbox: 'none' }] as const

describeAllKinds(kinds, (kind) => {
  describe.runIf(isRoot)('isolation of builds (as root)', () => {
    let harness: BuilderHarness

    beforeAll(async () => {
      process.env['SERVER_SECRET'] = 'secret of the server'
      harness = await openBuilderHarness(kind)
    }, 120_000)

    afterAll(async () => {
      delete process.env['SERVER_SECRET']
      await harness.dispose()
    })

    test('a build cannot access the environment or files of the server, files of other tenants, or the cache', async () => {
      await harness.build(NPM, { tenant: 'other' })
      const secretDir = join(harness.stateDir, 'secrets')
      mkdirSync(secretDir, { mode: 0o700 })
      writeFileSync(join(secretDir, 'key'), 'secret', { mode: 0o600 })
      const builds = join(harness.stateDir, 'builds')
      const tenantCacheDirs = readdirSync(join(builds, 'cache')).map((name) => join(builds, 'cache', name))
      const targets = [
        secretDir,
        join(secretDir, 'key'),
        builds,
        join(builds, 'trees'),
        join(builds, 'staging'),
        join(builds, 'cache'),
        ...tenantCacheDirs.flatMap((dir) => [dir, join(dir, 'deps'), join(dir, 'downloads/files')]),
        harness.imagesDir,
        '/root',
      ]
      const files = { ...NPM, 'build.js': PROBE, 'targets.json': JSON.stringify(targets) }
      const { image } = await harness.build(files)
      const report = JSON.parse(harness.read(image, 'lib/report.json'))
      const isDenied = (result: unknown) => ['ENOENT', 'EACCES', 'EROFS', 'ENOTDIR'].includes(String(result))
      // In a sandbox, the parents of the build’s own folder exist but contain nothing else.
      const ownDirs: string[] = report.cwd.split('/')
      const isHarmless = (result: unknown) => Array.isArray(result) && result.every((name) => ownDirs.includes(name))
      expect(targets.filter((_, index) => !isDenied(report.read[index]) && !isHarmless(report.read[index]))).toEqual([])
      expect(targets.filter((_, index) => !isDenied(report.written[index]))).toEqual([])
      expect(report.uid).toBeGreaterThanOrEqual(200_000)
      expect(Object.keys(report.env)).not.toContain('SERVER_SECRET')
      expect(JSON.stringify(report.env)).not.toContain('/root')

      // The build cannot modify shared files. It can replace its own files, but that changes neither the image nor the cache.
      expect(report.poison).toBe('EACCES')
      expect(report.replaced).toBe('done')
      const nextBuild = await harness.build({ ...NPM, 'src/next.ts': '' })
      for (const built of [image, nextBuild.image]) {
        expect(harness.read(built, 'node_modules/ms/license.md')).not.toBe('own')
        expect(harness.read(built, 'node_modules/ms/index.js')).not.toContain('poisoned')
      }
      const { mode, uid } = statSync(join(harness.imagesDir, image.image, 'app/lib/report.json'))
      expect({ mode: mode & 0o7777, uid }).toEqual({ mode: 0o755, uid: 0 })
    })
  })
})

describeAllKinds(kinds, (kind) => {
  describe('a server killed during a build', () => {
    let harness: BuilderHarness

    // Downloads the dependencies, and the toolchain unless `npm test` has installed it, before the test is timed.
    beforeAll(async () => {
      harness = await openBuilderHarness(kind)
      await harness.build(NPM)
    }, 120_000)

    afterAll(() => harness?.dispose())

    test('leaves files and processes, which the next server removes before it repeats the build', async () => {
      const { key } = await harness.unpack({
        ...NPM,
        'build.js': 'console.log("pid", process.pid); setInterval(() => {}, 1e6)',
      })
      const { stateDir, imagesDir, toolchainDir, npmConfig } = harness
      const request = { ...buildRequest(key, []), log: undefined, signal: undefined }
      const optionsFile = join(stateDir, 'options.json')
      writeFileSync(optionsFile, JSON.stringify({ stateDir, imagesDir, toolchainDir, npmConfig, kind, request }))
      const server = spawn(process.execPath, ['--input-type=module', '-e', SERVER], {
        env: { PATH: process.env['PATH'], OPTIONS: optionsFile, HOME: process.env['HOME'] },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let isBuilding = false
      try {
        for await (const line of createInterface({ input: server.stdout })) {
          isBuilding ||= /^pid \d+/.test(line)
          if (isBuilding) break
        }
      } finally {
        server.kill('SIGKILL')
      }
      await once(server, 'exit')
      expect(isBuilding).toBe(true)
      const staging = join(stateDir, 'builds/staging')
      expect(readdirSync(staging)).not.toEqual([])
      // bubblewrap ends the build together with the server. Without bubblewrap, the next server ends it.
      expect(programsOf(harness).length > 0 || harness.host.sandbox === 'bwrap').toBe(true)

      await harness.reopen()
      await harness.builder.recover()
      expect(readdirSync(staging)).toEqual([])
      expect(programsOf(harness)).toEqual([])
      // The source tree still exists, and the dependencies are cached.
      const log: string[] = []
      const overrides = { buildCommand: ['node', '-e', 'console.log("ended")'] }
      expect(await harness.builder.build(buildRequest(key, log, overrides))).toMatchObject({ reused: false })
      expect(log).toContain('ended')
    })

    const SERVER = `
    import { readFileSync } from 'node:fs'
    import { createBuilder } from ${JSON.stringify(new URL('./create-builder.ts', import.meta.url).href)}
    import { hostBackend } from ${JSON.stringify(new URL('./host-backend.ts', import.meta.url).href)}
    import { ensureToolchain } from ${JSON.stringify(new URL('./toolchain.ts', import.meta.url).href)}
    import { prepareHost } from ${JSON.stringify(new URL('../process/host.ts', import.meta.url).href)}
    const { stateDir, imagesDir, toolchainDir, npmConfig, kind, request } = JSON.parse(readFileSync(process.env.OPTIONS, 'utf8'))
    const toolchain = await ensureToolchain({ dir: toolchainDir, npm: { command: ['npm'], env: process.env }, log: () => {} })
    const host = await prepareHost({ stateDir, ...kind })
    const builder = await createBuilder({ dir: stateDir + '/builds', imagesDir, backend: hostBackend(host), toolchain, npmConfig, concurrency: 1, maxCacheBytes: 1e9, removeAfterMs: 0 })
    await builder.build({ ...request, log: (_, message) => console.log(message), signal: new AbortController().signal })
  `
  })
})

/** Returns the pids of build programs, which have a home folder below the state directory. */
function programsOf({ stateDir }: BuilderHarness): number[] {
  return listProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => initialEnvironment(pid).some((variable) => variable.startsWith(`HOME=${stateDir}`)))
}
