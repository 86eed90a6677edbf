import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type TestEntry, archiveOf, streamOf, tarOf } from '../../build/archive-harness.ts'
import { TreeTasks } from '../../build/tree-tasks.ts'
import { BuildFailure } from '../../builder.ts'
import { receiveDependencies, receiveTree } from './build-results.ts'

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

  test('with dependencies must consist of the folders `full` and `production`', async () => {
    const trees = new TreeTasks()
    const receiveAsDependencies = (archive: Readable) =>
      receiveDependencies(archive, join(folder, 'received'), { limits, trees })
    const shared = [
      { path: 'full/a', content: 'abc' },
      { path: 'production/a', type: 'Link' as const, linkpath: 'full/a' },
    ]
    expect(await receiveAsDependencies(archiveOf(shared)())).toMatchObject({ bytes: 3, productionBytes: 3 })
    rmSync(join(folder, 'received'), { recursive: true })
    await expect(receiveAsDependencies(archiveOf([{ path: 'full/a', content: 'abc' }])())).rejects.toThrow(
      'two folders of dependencies',
    )
    rmSync(join(folder, 'received'), { recursive: true })
    const link = [
      { path: 'full/a', content: 'x' },
      { path: 'production', type: 'SymbolicLink' as const, linkpath: 'full' },
    ]
    await expect(receiveAsDependencies(archiveOf(link)())).rejects.toThrow(BuildFailure)
  })
})
