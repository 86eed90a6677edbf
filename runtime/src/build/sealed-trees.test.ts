import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { unlimitedDisks } from '../process/disk/disks.ts'
import { openBuildCache } from './build-cache.ts'
import { cloneTree } from './clone-tree.ts'
import { sealTree } from './seal-tree.ts'
import { openStaging } from './staging.ts'
import { TreeTasks } from './tree-tasks.ts'

const MB = 2 ** 20
const isRoot = process.getuid?.() === 0
/** A uid that no other program uses, like those of builds. */
const BUILD_UID = isRoot ? 200_777 : null

let dir: string
let root: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'shoal-seal-'))
  chmodSync(dir, 0o755)
  root = join(dir, 'tree')
  mkdirSync(join(root, 'bin'), { recursive: true })
  writeFileSync(join(root, 'index.js'), 'original')
  writeFileSync(join(root, 'bin/run'), '#!/bin/sh', { mode: 0o755 })
  writeFileSync(join(root, '.package-lock.json'), '{}')
  symlinkSync('../index.js', join(root, 'bin/index'))
  if (isRoot) execFileSync('chown', ['-hR', `${BUILD_UID}:${BUILD_UID}`, root])
})

afterEach(() => rmSync(dir, { recursive: true }))

const runAs = (uid: number, script: string) =>
  execFileSync('setpriv', ['--reuid', String(uid), '--regid', String(uid), '--clear-groups', 'sh', '-c', script], {
    stdio: 'pipe',
  })

describe('sealing', () => {
  test('removes special bits, pipes, and the write permission of other users', () => {
    chmodSync(join(root, 'index.js'), 0o4777)
    chmodSync(join(root, 'bin'), 0o2777)
    execFileSync('mkfifo', [join(root, 'pipe')])
    const bytes = sealTree(root, BUILD_UID)
    expect(bytes).toBe('original'.length + '#!/bin/sh'.length + 2)
    expect(statSync(join(root, 'index.js')).mode & 0o7777).toBe(0o755)
    expect(statSync(join(root, 'bin')).mode & 0o7777).toBe(0o755)
    expect(existsSync(join(root, 'pipe'))).toBe(false)
    expect(lstatSync(join(root, 'bin/index')).uid).toBe(process.getuid?.())
  })

  test.runIf(isRoot)('rejects a hard link to a file of another user, and does not change that file', () => {
    const secret = join(dir, 'secret')
    writeFileSync(secret, 'secret', { mode: 0o600 })
    linkSync(secret, join(root, 'stolen'))
    expect(() => sealTree(root, BUILD_UID)).toThrow('"stolen"')
    expect(statSync(secret).mode & 0o777).toBe(0o600)
  })

  test.runIf(isRoot)('does not follow links', () => {
    const secret = join(dir, 'secret')
    writeFileSync(secret, 'secret', { mode: 0o600 })
    symlinkSync(secret, join(root, 'link'))
    sealTree(root, BUILD_UID)
    expect(statSync(secret).mode & 0o777).toBe(0o600)
  })

  test('rejects a link or a file in place of the folder, so that the server clones no folder of the host', () => {
    const hostDir = join(dir, 'host')
    mkdirSync(hostDir, { mode: 0o700 })
    symlinkSync(hostDir, join(dir, 'link'))
    writeFileSync(join(dir, 'file'), '')
    for (const name of ['link', 'file']) {
      expect(() => sealTree(join(dir, name), BUILD_UID)).toThrow('something other than a folder')
      expect(() => cloneTree(join(dir, name), join(dir, 'clone'), { uid: BUILD_UID, hardLinks: 'packages' })).toThrow(
        'is not a folder',
      )
    }
    expect(statSync(hostDir).mode & 0o777).toBe(0o700)
    expect(existsSync(join(dir, 'clone'))).toBe(false)
  })
})

describe.runIf(isRoot)('a cloned tree', () => {
  test('can be changed by the build without changing the original', () => {
    sealTree(root, BUILD_UID)
    const clone = join(dir, 'clone')
    cloneTree(root, clone, { uid: BUILD_UID, hardLinks: 'packages' })
    expect(statSync(join(clone, 'index.js')).ino).toBe(statSync(join(root, 'index.js')).ino)
    expect(() => runAs(200_777, `echo poison > ${clone}/index.js`)).toThrow('Permission denied')
    expect(() => runAs(200_777, `chmod 666 ${clone}/index.js`)).toThrow('not permitted')
    runAs(
      200_777,
      `rm ${clone}/index.js && echo own > ${clone}/index.js && echo note > ${clone}/.package-lock.json && mkdir ${clone}/new`,
    )
    expect(readFileSync(join(root, 'index.js'), 'utf8')).toBe('original')
    expect(readFileSync(join(root, '.package-lock.json'), 'utf8')).toBe('{}')
  })
})

test('tree tasks run on another thread and report failures', async () => {
  const tasks = new TreeTasks()
  await tasks.clone(root, join(dir, 'copy'), { uid: null, hardLinks: 'none' })
  expect(await tasks.seal(join(dir, 'copy'), null)).toBe('original'.length + '#!/bin/sh'.length + 2)
  await expect(tasks.clone(root, join(dir, 'copy'), { uid: null, hardLinks: 'none' })).rejects.toMatchObject({
    code: 'EEXIST',
  })
  await tasks.remove(join(dir, 'copy'))
  expect(existsSync(join(dir, 'copy'))).toBe(false)
})

describe('the cache', () => {
  const open = async (maxBytes: number) => {
    const staging = await openStaging(join(dir, 'staging'))
    const cache = await openBuildCache(join(dir, 'cache'), staging, new TreeTasks(), maxBytes)
    const store = async (tenant: string, key: string, bytes: number) => {
      const { path } = await staging.make()
      mkdirSync(join(path, 'full'))
      mkdirSync(join(path, 'production'))
      writeFileSync(join(path, 'full/index.js'), Buffer.alloc(bytes, 1))
      await cache.storeDependencies(tenant, key, path, 1)
    }
    const has = (tenant: string, key: string) => cache.withDependencies(tenant, key, async (cached) => cached !== null)
    return { cache, store, has, staging }
  }

  test('evicts the least recently used entries beyond its size limit', async () => {
    const { cache, store, has } = await open(2.5 * MB)
    for (const key of ['a', 'b', 'c']) {
      await store('acme', key, MB)
    }
    // File times record the last use: `c` is the oldest, then `b`. The next call uses `a`.
    execFileSync('touch', ['-d', '2020-01-02', ...(await entryFiles('b'))])
    execFileSync('touch', ['-d', '2020-01-01', ...(await entryFiles('c'))])
    await has('acme', 'a')
    await cache.evictExcess()
    expect(await Promise.all(['a', 'b', 'c'].map((key) => has('acme', key)))).toEqual([true, true, false])
  })

  test('evicts entries of the tenant that uses most, not the older ones of another', async () => {
    const { cache, store, has } = await open(2.5 * MB)
    await store('victim', 'a', MB)
    execFileSync('touch', ['-d', '2 days ago', ...(await entryFiles('a'))])
    for (const key of ['b', 'c', 'd']) {
      await store('hostile', key, MB)
      await cache.evictExcess()
    }
    expect(await has('victim', 'a')).toBe(true)
    const kept = await Promise.all(['b', 'c', 'd'].map((key) => has('hostile', key)))
    expect(kept.filter(Boolean)).toHaveLength(1)
  })

  test('counts what an entry uses on the disk: copies, and the blocks of small files, but shared files once', async () => {
    const { staging, cache } = await open(0)
    const bytesOf = async (key: string, hardLinks: 'none' | 'all', files: number, size: number) => {
      const { path } = await staging.make()
      mkdirSync(join(path, 'full'))
      for (let n = 0; n < files; n++) writeFileSync(join(path, `full/${n}`), Buffer.alloc(size, 1))
      cloneTree(join(path, 'full'), join(path, 'production'), { uid: null, hardLinks })
      await cache.storeDependencies('acme', key, path, 1)
      const [file = ''] = await entryFiles(key)
      return (JSON.parse(readFileSync(file, 'utf8')) as { bytes: number }).bytes
    }
    expect(Math.round((await bytesOf('copied', 'none', 1, MB)) / MB)).toBe(2)
    expect(Math.round((await bytesOf('shared', 'all', 1, MB)) / MB)).toBe(1)
    const block = statSync(join(dir, 'tree/index.js')).blocks * 512
    if (block > 1) expect(await bytesOf('small', 'all', 500, 1)).toBeGreaterThanOrEqual(500 * block)
  })

  test('does not evict entries in use', async () => {
    const { cache, store } = await open(0)
    await store('acme', 'a', 100)
    await cache.withDependencies('acme', 'a', async (cached) => {
      await cache.evictExcess()
      expect(existsSync(cached?.full ?? '')).toBe(true)
    })
    await cache.withDownloads('acme', await openDownloadsUser(), async (downloads) => {
      await cache.evictExcess()
      expect(existsSync(downloads)).toBe(true)
    })
  })

  test('does not evict an entry that a build begins to use while others are evicted', async () => {
    const { staging, cache, store, has } = await open(0)
    for (const key of ['a', 'b']) await store('acme', key, 100)
    for (const file of await entryFiles('a')) execFileSync('touch', ['-d', '1 hour ago', file])
    const discard = staging.discard.bind(staging)
    let build = Promise.resolve()
    const isEvicted = Promise.withResolvers<void>()
    // The build begins while the first entry is evicted.
    staging.discard = async (path) => {
      staging.discard = discard
      build = cache.withDependencies('acme', 'b', async (cached) => {
        await isEvicted.promise
        expect(existsSync(cached?.full ?? '')).toBe(true)
      })
      await discard(path)
    }
    await cache.evictExcess()
    isEvicted.resolve()
    await build
    expect([await has('acme', 'a'), await has('acme', 'b')]).toEqual([false, true])
  })

  test('separates tenants', async () => {
    const { store, has, cache } = await open(1000)
    await store('acme', 'a', 100)
    expect(await has('other', 'a')).toBe(false)
    const downloads = await Promise.all(
      ['acme', 'other'].map(
        async (tenant) => await cache.withDownloads(tenant, await openDownloadsUser(), async (path) => path),
      ),
    )
    expect(new Set(downloads).size).toBe(2)
  })

  const openDownloadsUser = async () => ({
    uid: null,
    disk: await unlimitedDisks(0).open({ dir, image: '', bytes: 0 }),
    limits: { diskBytes: 0 },
  })

  async function entryFiles(key: string): Promise<string[]> {
    const output = execFileSync('find', [join(dir, 'cache'), '-path', `*/deps/${key}/entry.json`], { encoding: 'utf8' })
    return output.split('\n').filter(Boolean)
  }
})
