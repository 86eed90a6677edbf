import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findManifest, readPackageJson } from './manifest-file.ts'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'shoal-manifest-'))
  mkdirSync(join(root, 'manifests/eth'), { recursive: true })
  writeFileSync(join(root, 'squid.yaml'), 'root')
  writeFileSync(join(root, 'manifests/eth/squid.yaml'), 'eth')
})

afterEach(() => rmSync(root, { recursive: true }))

test.each([
  ['squid.yaml', 'squid.yaml'],
  ['', 'squid.yaml'],
  ['./squid.yaml', 'squid.yaml'],
  ['manifests/eth/squid.yaml', 'manifests/eth/squid.yaml'],
  ['./manifests//eth/./squid.yaml', 'manifests/eth/squid.yaml'],
  ['/srv/me/erc20/squid.yaml', 'squid.yaml'],
  ['/srv/me/erc20/manifests/eth/squid.yaml', 'manifests/eth/squid.yaml'],
  ['C:\\Users\\me\\erc20\\manifests\\eth\\squid.yaml', 'manifests/eth/squid.yaml'],
  ['../erc20/manifests/eth/squid.yaml', 'manifests/eth/squid.yaml'],
])('-m %s resolves to %s', async (argument, path) => {
  const manifest = await findManifest(root, argument)
  expect(manifest).toEqual({ path, raw: path === 'squid.yaml' ? 'root' : 'eth' })
})

test.each(['other.yaml', 'x/squid.yaml', 'manifests', '/srv/me/other.yaml', '..'])(
  '-m %s fails with a message that names the missing file',
  async (argument) => {
    await expect(findManifest(root, argument)).rejects.toMatchObject({ kind: 'REQUIRED_SOURCE_FILE_MISSED' })
    await expect(findManifest(root, argument)).rejects.toThrow(JSON.stringify(argument))
  },
)

test('a manifest is never read through a link that leaves the tree', async () => {
  symlinkSync('/etc/hostname', join(root, 'out.yaml'))
  await expect(findManifest(root, 'out.yaml')).rejects.toMatchObject({ kind: 'REQUIRED_SOURCE_FILE_MISSED' })
})

test('package.json may be missing or start with a byte order mark, and must be a JSON object', async () => {
  expect(await readPackageJson(root)).toBeNull()
  for (const broken of ['{"name": ', '[]', '"x"', 'null']) {
    writeFileSync(join(root, 'package.json'), broken)
    await expect(readPackageJson(root)).rejects.toMatchObject({ kind: 'REQUIRED_SOURCE_FILE_INVALID' })
  }
  writeFileSync(join(root, 'package.json'), '\ufeff{"name":"x"}')
  expect(await readPackageJson(root)).toEqual({ name: 'x' })
})

test('a package.json may be nested 500 levels deep, and is rejected if it is deeper', async () => {
  const write = (levels: number) =>
    writeFileSync(join(root, 'package.json'), `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`)
  write(500)
  expect(await readPackageJson(root)).toHaveProperty('a')
  for (const levels of [501, 50_000]) {
    write(levels)
    await expect(readPackageJson(root)).rejects.toThrow('package.json is nested more than 500 levels deep.')
  }
})
