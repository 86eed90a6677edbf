import { randomBytes } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type TestEntry, archiveOf, streamOf, tarOf } from '../../build/archive-harness.ts'
import { TreeTasks } from '../../build/tree-tasks.ts'
import { BuildFailure } from '../../builder.ts'
import { DEPENDENCIES_ARCHIVE, receiveTree, storeArchive, unpackReceivedDependencies } from './build-results.ts'

const limits = { diskBytes: 10_000_000 }

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'build-results-'))
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

describe('a result of a build', () => {
  /** Returns the received folder, and the result of `receiveTree` or the error that it throws. */
  const receive = async (archive: Readable, size = limits.diskBytes) => {
    const dir = join(folder, 'received')
    const result: unknown = await receiveTree(archive, dir, {
      limits: { diskBytes: size },
      trees: new TreeTasks(),
    }).catch((reason: unknown) => reason)
    return { dir, result }
  }

  test('keeps `node_modules` and `.env`, which are ignored in a source', async () => {
    const { dir, result } = await receive(
      archiveOf([
        { path: 'node_modules/a/.env', content: 'x' },
        { path: '.env', content: 'y' },
      ])(),
    )
    expect(result).toMatchObject({ bytes: 2 })
    expect(readdirSync(dir).sort()).toEqual(['.env', 'node_modules'])
  })

  test('with a path or link that leaves its folder is refused, and writes nothing outside', async () => {
    const hostile: TestEntry[][] = [
      [{ path: '../escaped', content: 'x' }],
      [{ path: '/tmp/escaped', content: 'x' }],
      [{ path: 'link', type: 'SymbolicLink', linkpath: '/etc' }],
      [
        { path: 'link', type: 'SymbolicLink', linkpath: '..' },
        { path: 'link/escaped', content: 'x' },
      ],
      [{ path: 'link', type: 'Link', linkpath: '../secret' }],
      [{ path: 'device', type: 'CharacterDevice' }],
    ]
    writeFileSync(join(folder, 'secret'), 'secret')
    for (const entries of hostile) {
      const { dir, result } = await receive(archiveOf(entries)())
      expect(result, JSON.stringify(entries)).toBeInstanceOf(BuildFailure)
      expect(String(result)).toMatch(/The result of the build was refused: /)
      expect(existsSync(join(folder, 'escaped'))).toBe(false)
      rmSync(dir, { recursive: true })
    }
  })

  test('that is larger than the disk of a build is refused while it is read', async () => {
    const zeros = Buffer.alloc(2_000_000)
    const { result } = await receive(archiveOf([{ path: 'zeros', content: zeros }])(), 1_000_000)
    expect(String(result)).toMatch(/ran out of disk space: the files of a build, with its dependencies, may use 1 MB/)
  })

  test('that is not an archive, or ends early, is refused', async () => {
    const whole = gzipSync(tarOf([{ path: 'a', content: randomBytes(5000) }]))
    for (const bytes of [Buffer.from('text'), gzipSync('text'), whole.subarray(0, whole.length / 2)]) {
      const { dir, result } = await receive(streamOf(bytes)())
      expect(result).toBeInstanceOf(BuildFailure)
      rmSync(dir, { recursive: true })
    }
  })
})

describe('the dependencies that a build sends', () => {
  const receive = async (entries: TestEntry[] | Buffer, size = limits.diskBytes) => {
    const dir = join(folder, 'dependencies')
    rmSync(dir, { recursive: true, force: true })
    const context = { limits: { diskBytes: size }, trees: new TreeTasks() }
    const result: unknown = await storeArchive(
      streamOf(Buffer.isBuffer(entries) ? entries : tarOf(entries))(),
      dir,
      context,
    )
      .then(() => unpackReceivedDependencies(dir, context))
      .catch((reason: unknown) => reason)
    return { dir, result }
  }
  const common: TestEntry = { path: 'common/', type: 'Directory', mode: 0o755 }

  test('are kept as an archive, and only those of production are unpacked, read-only and without special modes', async () => {
    const { dir, result } = await receive([
      common,
      { path: 'common/a/run', content: 'abc', mode: 0o4777 },
      { path: 'common/.bin/run', type: 'SymbolicLink', linkpath: '../a/run' },
      { path: 'production/.lock', content: 'p' },
      { path: 'full/.lock', content: 'full' },
      { path: 'full/dev/x', content: 'x' },
    ])
    expect(result).toEqual({ dir, productionBytes: 4 })
    const production = join(dir, 'production')
    expect(readdirSync(production).sort()).toEqual(['.bin', '.lock', 'a'])
    expect(readFileSync(join(production, '.lock'), 'utf8')).toBe('p')
    expect(readFileSync(join(production, '.bin/run'), 'utf8')).toBe('abc')
    expect(lstatSync(join(production, 'a/run')).mode & 0o7777).toBe(0o755)
    expect(readdirSync(dir).sort()).toEqual([DEPENDENCIES_ARCHIVE, 'production'])
  })

  test('may be empty', async () => {
    expect((await receive([common])).result).toMatchObject({ productionBytes: 0 })
  })

  test.each<{ name: string; entries: TestEntry[] }>([
    { name: 'a path outside', entries: [{ path: 'common/../../escaped', content: 'x' }] },
    { name: 'an absolute path', entries: [{ path: '/tmp/escaped', content: 'x' }] },
    { name: 'another folder', entries: [{ path: 'other/a', content: 'x' }] },
    { name: 'a file instead of a folder', entries: [{ path: 'production', content: 'x' }] },
    { name: 'a link instead of a folder', entries: [{ path: 'production', type: 'SymbolicLink', linkpath: 'full' }] },
    { name: 'a link to a host’s path', entries: [{ path: 'full/a', type: 'SymbolicLink', linkpath: '/etc' }] },
    { name: 'a link out of its tree', entries: [{ path: 'common/a', type: 'SymbolicLink', linkpath: '../full' }] },
    {
      name: 'a file behind a link',
      entries: [
        { path: 'common/a', type: 'SymbolicLink', linkpath: '.' },
        { path: 'production/a/escaped', content: 'x' },
      ],
    },
    { name: 'a hard link', entries: [{ path: 'common/a', type: 'Link', linkpath: 'common/b' }] },
    { name: 'a device', entries: [{ path: 'common/a', type: 'CharacterDevice' }] },
    {
      name: 'a path twice',
      entries: [
        { path: 'common/a', content: 'x' },
        { path: 'production/a', content: 'y' },
      ],
    },
    {
      name: 'a file as a folder of the full tree',
      entries: [
        { path: 'common/a', content: 'x' },
        { path: 'full/a/b', content: 'y' },
      ],
    },
  ])('are refused with $name', async ({ entries }) => {
    const { result } = await receive([common, ...entries])
    expect(result).toBeInstanceOf(BuildFailure)
    expect(String(result)).toMatch(/The result of the build was refused: /)
    expect(existsSync(join(folder, 'escaped'))).toBe(false)
  })

  test('are refused if they are too large, not an archive, or end early', async () => {
    const zeros = [common, { path: 'common/zeros', content: Buffer.alloc(2_000_000) }]
    expect(String((await receive(zeros, 1_000_000)).result)).toMatch(/may use 1 MB/)
    const whole = tarOf([common, { path: 'common/a', content: randomBytes(5000) }])
    for (const bytes of [Buffer.from('text'), gzipSync(whole), whole.subarray(0, 3000)])
      expect((await receive(bytes)).result).toBeInstanceOf(BuildFailure)
    const openFiles = readdirSync('/proc/self/fd').map((fd) => {
      const link = `/proc/self/fd/${fd}`
      return existsSync(link) ? readlinkSync(link) : ''
    })
    expect(openFiles.filter((path) => path.startsWith(folder))).toEqual([])
  })
})
