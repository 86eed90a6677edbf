import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BuildRequest } from '../builder.ts'
import type { HostOptions } from '../process/host.ts'
import { loopDevicesOf } from '../process/process-harness.ts'
import { type BuilderHarness, LIMITS, LOCKFILES, TINY, openBuilderHarness } from './builder-harness.ts'
import { until } from '../until.ts'

const MIB = 1024 * 1024
const NPM = { ...TINY, ...LOCKFILES.npm }
const isRoot = process.getuid?.() === 0
const limits = { ...LIMITS, diskBytes: 128 * MIB }

/** A command that writes files of 20 MiB. `folder`: a JavaScript expression. */
const fill = (folder: string, files: number): string[] => [
  'node',
  '-e',
  `for (let i = 0; i < ${files}; i++) require('fs').writeFileSync(${folder} + '/fill-' + i, Buffer.alloc(20 * 2 ** 20, 1))`,
]
const createFiles = ['node', '-e', `for (let i = 0; i < 200_000; i++) require('fs').writeFileSync('fill-' + i, '')`]
/** A command that creates sparse files, which use no disk space, but as much as their size when they are copied. */
const createSparseFiles = [
  'node',
  '-e',
  `for (let i = 0; i < 20; i++) require('fs').ftruncateSync(require('fs').openSync('sparse-' + i, 'w'), 100 * 2 ** 20)`,
]

let harness: BuilderHarness

const open = async (options: Omit<HostOptions, 'stateDir'> = {}) => {
  harness = await openBuilderHarness(options)
}

const usedMiB = () =>
  Number(execFileSync('du', ['-s', '-B1', harness.stateDir], { encoding: 'utf8' }).split('\t')[0]) / MIB

const expectNothingLeft = async () => {
  expect(loopDevicesOf(harness.stateDir)).toEqual([])
  await until(() => expect(readdirSync(join(harness.stateDir, 'builds/staging'))).toEqual([]))
}

describe.runIf(isRoot)('the disk space of builds', () => {
  beforeAll(() => open(), 120_000)
  afterAll(() => harness?.dispose())

  const attacks: [string, Partial<BuildRequest>][] = [
    ['a build script that fills its work folder', { buildCommand: fill('"."', 20) }],
    ['a build script that fills its home', { buildCommand: fill('process.env.HOME', 20) }],
    ['a build script that fills its temporary folder', { buildCommand: fill('process.env.TMPDIR', 20) }],
    ['a build script that creates 200,000 files', { buildCommand: createFiles }],
    ['a build script that leaves sparse files', { buildCommand: createSparseFiles }],
    ['an install script that fills the disk', { installCommand: fill('"."', 20) }],
  ]
  test.each(attacks)('%s fails at the disk limit', async (_, request) => {
    const { error } = await harness.fail(NPM, { limits, ...request })
    expect(error).toMatchObject({ kind: 'SOURCE_FILES_BUILD_FAILED' })
    expect(String(error)).toContain(
      'ran out of disk space: the files of a build, with its dependencies, may use 134 MB',
    )
    expect(usedMiB()).toBeLessThan(128)
    await expectNothingLeft()
  })

  test('the download cache of a tenant has limited disk space, and is emptied before the next build when it is full', async () => {
    const fillDownloads = [
      'sh',
      '-c',
      `mkdir -p $npm_config_cache && exec "$@"`,
      'sh',
      ...fill('process.env.npm_config_cache', 20),
    ]
    const { error } = await harness.fail(NPM, { limits, tenant: 'filler', installCommand: fillDownloads })
    expect(String(error)).toContain('ran out of disk space')
    const { image } = await harness.build(NPM, { limits, tenant: 'filler' })
    expect(harness.read(image, 'lib/main.js')).toContain('v20')
    await expectNothingLeft()
  })

  test('an image is the same with new and with cached dependencies', async () => {
    const builds = [await harness.build(NPM, { limits, tenant: 'other' })]
    builds.push(await harness.build({ ...NPM, 'src/other.ts': '' }, { limits, tenant: 'other' }))
    expect(builds[1]?.log.join()).toContain('Dependencies unchanged')
    for (const { image } of builds) {
      expect(harness.read(image, 'lib/main.js')).toContain('v20')
      expect(harness.list(image, 'node_modules')).toEqual(['ms'])
      expect(image.bytes).toBe(builds[0]?.image.bytes)
    }
    await expectNothingLeft()
  })

  test('cached dependencies are mounted: a build may rename, replace and add files of packages without changing the cache', async ({
    skip,
  }) => {
    skip(harness.host.workFolders !== 'overlay', 'overlays cannot be mounted here')
    const change = `const fs = require('node:fs')
      const code = (work) => { try { work(); return 'done' } catch (error) { return error.code } }
      const modules = 'node_modules/'
      const results = [
        /^shoal-modules .* overlay /m.test(fs.readFileSync('/proc/self/mounts', 'utf8')),
        fs.readFileSync(modules + 'ms/index.js', 'utf8').length > 1000,
        code(() => fs.appendFileSync(modules + 'ms/index.js', 'changed')),
        code(() => fs.writeFileSync(modules + 'ms/added.js', '')),
        code(() => fs.rmSync(modules + 'ms/package.json')),
        code(() => fs.writeFileSync(modules + 'ms/package.json', '{}')),
        code(() => fs.renameSync(modules + 'ms', modules + 'renamed')),
        code(() => fs.appendFileSync(modules + '.package-lock.json', ' ')),
        fs.readdirSync(modules + 'renamed').sort().join(),
      ]
      console.log('results ' + JSON.stringify(results))`
    const tenant = 'changer'
    await harness.build(NPM, { limits, tenant })
    for (let build = 1; build <= 2; build++) {
      const { image, log } = await harness.build(
        { ...NPM, 'build.cjs': `${change} // ${build}` },
        { limits, tenant, buildCommand: ['node', 'build.cjs'] },
      )
      expect(log.join('\n')).toContain('Dependencies unchanged')
      const files = 'added.js,index.js,license.md,package.json,readme.md'
      const results = [true, true, 'EACCES', ...Array.from({ length: 5 }, () => 'done'), files]
      expect(log.join('\n')).toContain(`results ${JSON.stringify(results)}`)
      expect(harness.list(image, 'node_modules/ms')).toEqual(['index.js', 'license.md', 'package.json', 'readme.md'])
      expect(harness.read(image, 'node_modules/ms/package.json')).toContain('"name": "ms"')
    }
    await expectNothingLeft()
  })

  test.each([
    ['removes', 'rm -rf node_modules'],
    ['moves', 'mv node_modules old'],
    ['moves files from', `node -e "fs.renameSync('node_modules/ms/index.js', 'moved.js')"`],
  ])('a build that %s node_modules succeeds with cached dependencies, too', async (_, command) => {
    const tenant = `tenant of ${command}`
    for (let build = 1; build <= 2; build++) {
      const { image, log } = await harness.build(
        { ...NPM, 'build.sh': `set -e # ${build}\nmkdir out\n${command}\n` },
        { limits, tenant, buildCommand: ['sh', 'build.sh'] },
      )
      expect(log.includes('Dependencies unchanged: installed nothing')).toBe(build === 2)
      const isRepeated = log.some((line) => line.includes('building again with a copy'))
      expect(isRepeated).toBe(build === 2 && harness.host.workFolders === 'overlay')
      expect(harness.list(image, '.')).toContain('out')
      expect(harness.list(image, 'node_modules/ms')).toContain('index.js')
    }
    await expectNothingLeft()
  })

  test('a link in place of cached dependencies is not mounted', async () => {
    const tenant = 'linker'
    await harness.build(NPM, { limits, tenant })
    const key = createHash('sha256').update(tenant).digest('hex').slice(0, 32)
    const dependencies = join(harness.stateDir, 'builds/cache', key, 'deps')
    const [entry = ''] = readdirSync(dependencies)
    const full = join(dependencies, entry, 'full')
    rmSync(full, { recursive: true })
    symlinkSync('/root', full)
    const { error } = await harness.fail({ ...NPM, 'src/other.ts': '' }, { limits, tenant })
    expect(String(error)).toContain('is not a folder')
    await expectNothingLeft()
  })
})

describe.runIf(isRoot)('if the disk space of squids is not limited', () => {
  beforeAll(() => open({ containerDiskBytes: 0 }), 120_000)
  afterAll(() => harness?.dispose())

  test('the disk space of builds is still limited', async () => {
    const { error } = await harness.fail(NPM, { limits, buildCommand: fill('"."', 20) })
    expect(String(error)).toContain('ran out of disk space')
    await expectNothingLeft()
  })
})

describe('if disk images cannot be mounted', () => {
  beforeAll(() => open({ disk: 'none' }), 120_000)
  afterAll(() => harness?.dispose())

  test('only the size of each file is limited', async () => {
    const { image } = await harness.build(NPM, { limits, buildCommand: fill('"."', 8) })
    expect(image.bytes).toBeGreaterThan(limits.diskBytes)
    const { error } = await harness.fail(NPM, {
      limits: { ...limits, diskBytes: 10 * MIB },
      buildCommand: fill('"."', 1),
    })
    expect(String(error)).toContain('ran out of disk space')
  })
})
