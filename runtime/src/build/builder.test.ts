import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { imagePaths } from '../image.ts'
import {
  type BuilderHarness,
  LOCKFILES,
  PACKAGE_JSON,
  TINY,
  buildRequest,
  openBuilderHarness,
} from './builder-harness.ts'

let harness: BuilderHarness

beforeAll(async () => {
  harness = await openBuilderHarness()
}, 120_000)

afterAll(() => harness.dispose())

const UNREACHABLE_REGISTRY = 'http://127.0.0.1:9/'

describe.each(Object.entries(LOCKFILES))('with %s', (manager, lockfile) => {
  // Also tests a version of Node other than the default.
  const nodeVersion = manager === 'pnpm' ? '18' : '20'

  test('a squid is installed from its lockfile and built; its image has only production dependencies, and a second build installs nothing', async () => {
    const first = await harness.build({ ...TINY, ...lockfile }, { tenant: manager, nodeVersion })
    const [version, wrappy, ms] = JSON.parse(harness.read(first.image, 'lib/main.js'))
    expect({ version: version.split('.')[0], wrappy, ms }).toEqual({
      version: `v${nodeVersion}`,
      wrappy: 'function',
      ms: 1000,
    })
    expect(harness.list(first.image, 'node_modules')).toEqual(['ms'])
    expect(first.log).toContain('\u001b[32mbuilt\u001b[0m')
    expect(
      first.log.some((line) =>
        /^\$ (npm ci|pnpm install --frozen-lockfile|yarn install --(frozen-lockfile|immutable))/.test(line),
      ),
    ).toBe(true)

    // The registry is unreachable, so a successful build has installed nothing.
    await harness.reopen({ registry: UNREACHABLE_REGISTRY })
    const second = await harness.build({ ...TINY, ...lockfile, 'src/new.ts': '' }, { tenant: manager, nodeVersion })
    await harness.reopen()
    expect(second.log).toContain('Dependencies unchanged: installed nothing')
    expect(second.log).toContain(`$ ${manager.split(' ')[0]} run build`)
    expect(second.log.filter((line) => /^\$ .*\b(install|ci)\b/.test(line))).toEqual([])
    expect(harness.list(second.image, 'node_modules')).toEqual(['ms'])
    expect(harness.read(second.image, 'lib/main.js')).toBe(harness.read(first.image, 'lib/main.js'))
  })
})

const NPM = { ...TINY, ...LOCKFILES.npm }

test('building the same source again reuses the image', async () => {
  const first = await harness.build(NPM)
  const secondBuild = await harness.build(NPM)
  expect(secondBuild.image).toEqual({ ...first.image, reused: true })
  expect(secondBuild.log).toEqual(['This source was built before: its image is reused'])
  await harness.builder.removeImage(first.image.image)
  await harness.builder.removeImage(first.image.image)
  expect(existsSync(join(harness.imagesDir, first.image.image))).toBe(false)
})

test('of two concurrent builds of the same source, one reuses the image of the other', async () => {
  const source = { ...NPM, 'src/once.ts': '' }
  const builds = await Promise.all([harness.build(source), harness.build(source)])
  expect(builds.filter(({ image }) => image.reused)).toHaveLength(1)
})

test('an image records its toolchain, and shares the files of its dependencies with the cache', async () => {
  const { image } = await harness.build({ ...NPM, 'src/record.ts': '' })
  const paths = imagePaths(harness.imagesDir, image.image)
  const { bin, node } = { bin: paths.pathDirs[1] ?? '', node: paths.pathDirs.at(-1) ?? '' }
  expect(readdirSync(bin).sort()).toEqual(['npm', 'npx', 'sqd'])
  expect(existsSync(join(node, 'node'))).toBe(true)
  const record = JSON.parse(harness.read(image, '../image.json'))
  expect(record).toMatchObject({ packageManager: 'npm', nodeVersion: '20.20.2', bytes: image.bytes, sdk: null })
  expect(record.digest).toMatch(/^[0-9a-f]{64}$/)
  const file = statSync(join(paths.appDir, 'node_modules/ms/index.js'))
  expect(file.mode & 0o7777).toBe(0o644)
  expect(file.uid).toBe(process.getuid?.())
  // Builds that run as the user of the server use copies.
  expect(file.nlink > 1).toBe(process.getuid?.() === 0)
})

test('tenants do not share caches', async () => {
  await harness.reopen({ registry: UNREACHABLE_REGISTRY })
  const { error } = await harness.fail({ ...NPM, '.npmrc': 'fetch-retries=0' }, { tenant: 'other' })
  await harness.reopen()
  expect(error).toMatchObject({ kind: 'UNEXPECTED' })
  expect(String(error)).toContain('not the squid’s fault')
})

test('commands of the manifest replace the default install and build commands', async () => {
  const built = await harness.build(TINY, {
    installCommand: ['node', '-e', 'require("fs").mkdirSync("node_modules/own", { recursive: true })'],
    buildCommand: ['node', '-e', 'require("fs").writeFileSync("made", process.env.PATH)'],
  })
  expect(harness.list(built.image, 'node_modules')).toEqual(['own'])
  expect(harness.read(built.image, 'made')).toContain('node_modules/.bin:')
  expect(harness.list(built.image, '.')).not.toContain('lib')
})

test('with a dependency in the squid’s folder, each build installs from scratch and prunes development dependencies', async () => {
  const packageJson = {
    ...PACKAGE_JSON,
    dependencies: { local: 'file:./local' },
    scripts: { postinstall: 'node -e 1' },
  }
  const packages = {
    '': { ...packageJson, scripts: undefined, hasInstallScript: true },
    local: { version: '1.0.0' },
    'node_modules/local': { resolved: 'local', link: true },
    'node_modules/wrappy': { ...JSON.parse(LOCKFILES.npm['package-lock.json']).packages['node_modules/wrappy'] },
  }
  const files = {
    'package.json': JSON.stringify(packageJson),
    'package-lock.json': JSON.stringify({
      name: 'tiny',
      version: '1.0.0',
      lockfileVersion: 3,
      requires: true,
      packages,
    }),
    'local/package.json': '{"name":"local","version":"1.0.0"}',
  }
  const { image, log } = await harness.build(files)
  expect(log[0]).toMatch(/installed from scratch for each build, because package.json has a script “postinstall”/)
  expect(log).toContain('package.json has no build script: nothing to build')
  expect(harness.list(image, 'node_modules')).toEqual(['local'])
  expect(JSON.parse(harness.read(image, 'package.json'))).toEqual(packageJson)
})

test('unpacking under an existing key replaces the tree, and removing a tree is idempotent', async () => {
  const first = await harness.unpack({ ...NPM, 'old.ts': '' }, 'again')
  const second = await harness.unpack({ ...NPM, '.env': 'A=1' }, 'again')
  expect(second.digest).not.toBe(first.digest)
  expect(second).toMatchObject({ key: 'again', manifestPath: 'squid.yaml', manifestRaw: 'name: x', files: 4 })
  expect(second.notes).toHaveLength(1)
  await harness.builder.removeTree('again')
  await harness.builder.removeTree('again')
  await expect(harness.builder.build(buildRequest('again', []))).rejects.toThrow('ENOENT')
  await expect(harness.unpack(NPM, '../out')).rejects.toThrow('is not a valid key')
})

test('a build beyond the concurrency limit logs that it is waiting, and starts when another one ends', async () => {
  const cancel = new AbortController()
  const endless = {
    installCommand: ['node', '-e', '1'],
    buildCommand: ['node', '-e', 'console.log("building"); setInterval(() => {}, 1e6)'],
    signal: cancel.signal,
  }
  const running = ['a', 'b'].map(async (name) => {
    const { promise: isBuilding, resolve } = Promise.withResolvers<void>()
    const log = (_: string, message: string) => void (message === 'building' && resolve())
    const failed = harness.fail({ ...NPM, [`src/${name}.ts`]: '' }, { ...endless, log })
    await isBuilding
    return { failed }
  })
  const builds = await Promise.all(running)
  const { promise: isWaiting, resolve: onWaiting } = Promise.withResolvers<void>()
  const events: string[] = []
  const third = harness.build(NPM, {
    tenant: 'waiting',
    log: (_, message) => {
      if (message !== 'Waiting for other builds to finish') return
      events.push('waiting')
      onWaiting()
    },
    onStart: async () => void events.push('started'),
  })
  await isWaiting
  expect(events).toEqual(['waiting'])
  cancel.abort(new Error('cancelled'))
  await Promise.all(builds.map(({ failed }) => failed))
  await third
  expect(events).toEqual(['waiting', 'started'])
})
