import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { dependencyKey } from './dependency-key.ts'
import { type PackageManagerRequest, choosePackageManager } from './package-manager.ts'

const PNPM_9 = "lockfileVersion: '9.0'\n"
const YARN_1 = '# yarn lockfile v1\n'
const berry = (version: number) => `__metadata:\n  version: ${version}\n  cacheKey: 10\n`

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'shoal-manager-'))
})

afterEach(() => rmSync(root, { recursive: true }))

const choose = (files: Record<string, string>, packageJson = {}, request: Partial<PackageManagerRequest> = {}) => {
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(root, name), text)
  }
  return choosePackageManager(root, packageJson, { packageManager: 'auto', hasInstallCommand: false, ...request })
}

describe('the package manager', () => {
  test.each([
    ['npm', { 'package-lock.json': '{}' }, {}, 'npm', null],
    ['npm takes precedence over pnpm', { 'package-lock.json': '{}', 'pnpm-lock.yaml': PNPM_9 }, {}, 'npm', null],
    [
      'the packageManager field selects between two lockfiles',
      { 'package-lock.json': '{}', 'pnpm-lock.yaml': PNPM_9 },
      { packageManager: 'pnpm@10.1.0' },
      'pnpm',
      '10.34.9',
    ],
    ['pnpm', { 'pnpm-lock.yaml': PNPM_9 }, {}, 'pnpm', '10.34.9'],
    [
      'the version of pnpm in the packageManager field',
      { 'pnpm-lock.yaml': PNPM_9 },
      { packageManager: 'pnpm@9.4.0+sha512.aa' },
      'pnpm',
      '9.15.9',
    ],
    [
      'the lockfile takes precedence over the version of the packageManager field',
      { 'pnpm-lock.yaml': "lockfileVersion: '6.0'\n" },
      { packageManager: 'pnpm@10.0.0' },
      'pnpm',
      '8.15.9',
    ],
    ['yarn classic', { 'yarn.lock': YARN_1 }, {}, 'yarn-classic', '1.22.22'],
    ['yarn 3', { 'yarn.lock': berry(6) }, {}, 'yarn-berry', '3.8.7'],
    ['yarn 4', { 'yarn.lock': berry(8) }, { packageManager: 'yarn@4.5.0' }, 'yarn-berry', '4.9.2'],
    ['the newest yarn', { 'yarn.lock': berry(10) }, {}, 'yarn-berry', '4.18.1'],
  ] as const)('%s', async (_, files, packageJson, kind, version) => {
    const manager = await choose(files, packageJson)
    expect(manager).toMatchObject({ kind })
    expect(manager.tool?.version ?? null).toBe(version)
  })

  test('reports which of two lockfiles is used', async () => {
    const { notes } = await choose({ 'package-lock.json': '{}', 'yarn.lock': YARN_1 })
    expect(notes).toEqual(['Installing from package-lock.json, ignoring yarn.lock'])
  })

  test('the manifest takes precedence over the packageManager field', async () => {
    const files = { 'package-lock.json': '{}', 'yarn.lock': YARN_1 }
    expect(await choose(files, { packageManager: 'npm@10.0.0' }, { packageManager: 'yarn' })).toMatchObject({
      name: 'yarn',
    })
  })

  test('a missing lockfile fails with advice, unless the manifest has an install command', async () => {
    await expect(choose({})).rejects.toMatchObject({ kind: 'REQUIRED_SOURCE_FILE_MISSED' })
    await expect(choose({})).rejects.toThrow(/`npm install` .*`pnpm install` .*`yarn install`/)
    await expect(choose({}, {}, { packageManager: 'pnpm' })).rejects.toThrow('Run `pnpm install`')
    expect(await choose({}, {}, { hasInstallCommand: true })).toMatchObject({ kind: 'npm', lockfile: null })
  })

  test('a lockfile of a package manager other than the requested one is rejected', async () => {
    await expect(choose({ 'yarn.lock': YARN_1 }, {}, { packageManager: 'pnpm' })).rejects.toThrow(
      'contains yarn.lock and no pnpm-lock.yaml',
    )
  })

  test('a lockfile that no available version reads is rejected', async () => {
    await expect(choose({ 'pnpm-lock.yaml': 'lockfileVersion: 5.4\n' })).rejects.toMatchObject({
      kind: 'REQUIRED_SOURCE_FILE_INVALID',
    })
  })
})

describe('the cache key of dependencies', () => {
  const keyOf = async (packageJson: Record<string, unknown>, files: Record<string, string>) => {
    const manager = await choose(files, packageJson)
    const versions = { nodeVersion: '20.20.2', toolchainVersion: '1', hasInstallCommand: false }
    return await dependencyKey({ root, packageJson, manager, ...versions })
  }
  const lock = { 'package-lock.json': '{"packages":{}}' }
  const plain = { name: 'x', dependencies: { ms: '2.1.3' }, scripts: { build: 'tsc' } }

  test('does not depend on name, version and other scripts', async () => {
    const first = await keyOf(plain, lock)
    const second = await keyOf({ ...plain, name: 'y', version: '2.0.0', scripts: { build: 'swc', test: 'x' } }, lock)
    expect(first.key).toMatch(/^[0-9a-f]{32}$/)
    expect(second).toEqual(first)
  })

  test('changes with dependencies, lockfile and configuration files', async () => {
    const keys = [
      await keyOf(plain, lock),
      await keyOf({ ...plain, overrides: { a: '1' } }, lock),
      await keyOf(plain, { 'package-lock.json': '{"packages":{"a":{}}}' }),
      await keyOf(plain, { '.npmrc': 'legacy-peer-deps=true' }),
    ]
    expect(new Set(keys.map(({ key }) => key)).size).toBe(4)
  })

  test.each([
    ['an install script', { ...plain, scripts: { postinstall: 'patch-package' } }, lock],
    ['workspaces', { ...plain, workspaces: ['packages/*'] }, lock],
    ['a dependency in the squid’s folder', { ...plain, dependencies: { a: 'file:./a' } }, lock],
    ['a local link in the lockfile', plain, { 'package-lock.json': '{"packages":{"a":{"link": true}}}' }],
    ['a pnpm workspace', plain, { 'pnpm-lock.yaml': PNPM_9, 'pnpm-workspace.yaml': 'packages:\n  - a\n' }],
    ['a patch', plain, { 'yarn.lock': `${berry(8)}"a@patch:a@npm%3A1.0.0#~/.yarn/patches/a.patch":\n` }],
  ])('is null with %s', async (_, packageJson, files) => {
    rmSync(join(root, 'package-lock.json'), { force: true })
    const { key, reason } = await keyOf(packageJson, files)
    expect(key).toBeNull()
    expect(reason).toBeTruthy()
  })

  test('ignores built-in patches of yarn', async () => {
    const own = '"typescript@patch:typescript@npm%3A5.5.4#optional!builtin<compat/typescript>":\n  version: 5.5.4\n'
    expect((await keyOf(plain, { 'yarn.lock': berry(8) + own })).key).not.toBeNull()
  })

  test.each([
    ['patches on one line', YARN_1 + 'patch:'.repeat(80_000), 'yarn-classic'],
    ['empty lines after the header', `__metadata:${'\n'.repeat(480_000)}`, 'yarn-classic'],
  ])(
    'is computed immediately even from a lockfile with many %s',
    async (_, text, kind) => {
      const manager = await choose({ 'yarn.lock': text }, plain)
      const versions = { nodeVersion: '20.20.2', toolchainVersion: '1', hasInstallCommand: false }
      await dependencyKey({ root, packageJson: plain, manager, ...versions })
      expect(manager.kind).toBe(kind)
    },
    20_000,
  )
})
