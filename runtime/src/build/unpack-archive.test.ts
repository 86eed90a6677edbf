import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BuildFailure } from '../builder.ts'
import { type TestEntry, archiveOf, streamOf, tarOf } from './archive-harness.ts'
import { summarizeTree } from './tree.ts'
import { unpackArchive } from './unpack-archive.ts'

const LIMITS = { totalBytes: 20e6, files: 100, ratio: 100 }

let dir: string
let root: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'shoal-unpack-'))
  root = join(dir, 'above/tree')
  mkdirSync(root, { recursive: true })
  writeFileSync(join(dir, 'above/outside'), 'untouched')
})

afterEach(() => {
  // Nothing outside of the tree may have changed.
  const above = readdirSync(join(dir, 'above'))
  const outside = readFileSync(join(dir, 'above/outside'), 'utf8')
  const top = readdirSync(dir)
  rmSync(dir, { recursive: true })
  expect({ above, outside, top }).toEqual({ above: ['outside', 'tree'], outside: 'untouched', top: ['above'] })
})

const unpack = (archive: () => Readable, limits = LIMITS) => unpackArchive(archive(), root, limits)

async function rejection(archive: () => Readable, limits = LIMITS): Promise<string> {
  const error: unknown = await unpack(archive, limits).then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof BuildFailure)) {
    throw new Error('the archive was accepted', { cause: error })
  }
  expect(error.kind).toBe('REQUIRED_SOURCE_FILE_INVALID')
  expect(error.message).not.toContain(dir)
  return error.message
}

describe('a valid archive', () => {
  test('keeps contents, links and the owner’s executable bit, but neither other modes nor owners', async () => {
    const notes = await unpack(
      archiveOf([
        { path: './src/', type: 'Directory', mode: 0o700 },
        { path: './src/main.ts', content: 'hello', mode: 0o6666, uid: 12345 },
        { path: './run.sh', content: '#!', mode: 0o4755 },
        { path: './current', type: 'SymbolicLink', linkpath: 'src/main.ts' },
        { path: './same', type: 'Link', linkpath: 'src/main.ts' },
      ]),
    )
    await summarizeTree(root)
    const modes = ['src', 'src/main.ts', 'run.sh'].map((path) => statSync(join(root, path)).mode & 0o7777)
    expect(notes).toEqual([])
    expect(modes).toEqual([0o755, 0o644, 0o755])
    expect(statSync(join(root, 'src/main.ts')).uid).toBe(process.getuid?.())
    expect(readFileSync(join(root, 'same'), 'utf8')).toBe('hello')
    expect(readlinkSync(join(root, 'current'))).toBe('src/main.ts')
  })

  test('is unpacked without .env, node_modules and .git, which the notes report', async () => {
    const notes = await unpack(
      archiveOf([
        { path: './.env', content: 'DB_URL=postgres://elsewhere' },
        { path: './node_modules/x/index.js', content: '' },
        { path: './packages/a/node_modules/y/index.js', content: '' },
        { path: './.git/config', content: '' },
        { path: './config/.env', content: 'kept, since no program reads it automatically' },
        { path: './package.json', content: '{}' },
      ]),
    )
    expect(new Set(readdirSync(root, { recursive: true, encoding: 'utf8' }))).toEqual(
      new Set(['config', 'config/.env', 'package.json']),
    )
    expect(notes).toHaveLength(3)
    expect(notes[0]).toContain('sqd secrets set')
  })

  test('has a digest that depends on the executable bit, but not on order and times', async () => {
    const entries: TestEntry[] = [
      { path: 'b', content: '1' },
      { path: 'a/c', content: '2' },
    ]
    await unpack(archiveOf(entries))
    const first = await summarizeTree(root)
    rmSync(root, { recursive: true })
    mkdirSync(root)
    await unpack(archiveOf(entries.toReversed()))
    const second = await summarizeTree(root)
    rmSync(root, { recursive: true })
    mkdirSync(root)
    await unpack(archiveOf([{ path: 'b', content: '1', mode: 0o755 }, ...entries.slice(1)]))
    const third = await summarizeTree(root)
    expect(second).toEqual(first)
    expect(first).toMatchObject({ files: 3, bytes: 2 })
    expect(third.digest).not.toBe(first.digest)
  })
})

describe('a malicious archive is rejected, and nothing is written outside of the tree:', () => {
  const maliciousContent = 'malicious'
  test.each<[string, TestEntry[], string]>([
    ['a path with ..', [{ path: '../outside', content: maliciousContent }], 'outside'],
    ['a path with .. in the middle', [{ path: 'a/../../outside', content: maliciousContent }], 'outside'],
    ['an absolute path', [{ path: '/tmp/shoal-evil', content: maliciousContent }], 'absolute'],
    ['an absolute link', [{ path: 'l', type: 'SymbolicLink', linkpath: '/etc' }], 'outside'],
    ['a link to a parent folder', [{ path: 'a/l', type: 'SymbolicLink', linkpath: '../..' }], 'outside'],
    ['a hard link to a file outside', [{ path: 'l', type: 'Link', linkpath: '../outside' }], 'outside'],
    ['an absolute hard link', [{ path: 'l', type: 'Link', linkpath: '/etc/passwd' }], 'outside'],
    ['a hard link to a missing file', [{ path: 'l', type: 'Link', linkpath: 'missing' }], 'cannot be unpacked'],
    ['a device', [{ path: 'null', type: 'CharacterDevice' }], 'device'],
    ['a pipe', [{ path: 'pipe', type: 'FIFO' }], 'named pipe'],
    ['a sparse file', [{ path: 'sparse', type: 'SparseFile' }], 'sparse file'],
    [
      'a file behind a link',
      [
        { path: 'd', type: 'SymbolicLink', linkpath: 'e' },
        { path: 'e/x', content: '' },
        { path: 'd/y', content: maliciousContent },
      ],
      'same path twice: "d" is a link and a folder',
    ],
    [
      'a manifest that is also a folder',
      [
        { path: './squid.yaml', content: 'name: x' },
        { path: './squid.yaml/', type: 'Directory' },
      ],
      'same path twice: "squid.yaml" is a file and a folder',
    ],
    [
      'a file name with a right-to-left override',
      [{ path: 'src/\u202egpj.ts', content: '' }],
      '"src/\\u202egpj.ts" has a name with a character that reverses text',
    ],
    [
      'a link behind a link',
      [
        { path: 'd', type: 'SymbolicLink', linkpath: 'e' },
        { path: 'd/y', type: 'SymbolicLink', linkpath: 'z' },
      ],
      'same path twice: "d" is a link and a folder',
    ],
    [
      'links that point outside only together',
      [
        { path: 'deep/er/x', content: '' },
        { path: 'in', type: 'SymbolicLink', linkpath: 'deep/er' },
        { path: 'deep/er/up', type: 'SymbolicLink', linkpath: '../..' },
        { path: 'out', type: 'SymbolicLink', linkpath: 'in/up/../../outside' },
      ],
      'outside',
    ],
    [
      'a link cycle',
      [
        { path: 'a', type: 'SymbolicLink', linkpath: 'b' },
        { path: 'b', type: 'SymbolicLink', linkpath: 'a' },
      ],
      'outside',
    ],
    [
      'a hard link to a link',
      [
        { path: 'a/b/l', type: 'SymbolicLink', linkpath: '../../x' },
        { path: 'l', type: 'Link', linkpath: 'a/b/l' },
      ],
      'cannot be unpacked',
    ],
    [
      'a link to the lockfile of a monorepo',
      [{ path: 'yarn.lock', type: 'SymbolicLink', linkpath: '../yarn.lock' }],
      'lockfile itself',
    ],
  ])('%s', async (_, entries, reason) => {
    expect(await rejection(archiveOf([{ path: 'package.json', content: '{}' }, ...entries]))).toContain(reason)
  })

  test('too many files', async () => {
    const entries = Array.from({ length: 101 }, (_, index) => ({ path: `f${index}` }))
    expect(await rejection(archiveOf(entries))).toContain('more than 100 files')
    const deep = Array.from({ length: 3 }, (_, index) => ({ path: `${index}/${'d/'.repeat(40)}f` }))
    expect(await rejection(archiveOf(deep))).toContain('more than 100 files and folders')
  })

  test('too many bytes, before they are written', async () => {
    const content = Buffer.from(Array.from({ length: 1_500_000 }, (_, index) => (index * 7919) % 251))
    expect(await rejection(archiveOf([{ path: 'big', content }]), { ...LIMITS, totalBytes: 1e6 })).toContain('1 MB')
    expect(readdirSync(root)).toEqual([])
  })

  test('a decompression bomb', async () => {
    const bomb = archiveOf([{ path: 'zeros', content: Buffer.alloc(15e6) }])
    expect(await rejection(bomb)).toContain('100 times its size')
  })

  test('a decompression bomb of long names, which do not count as entries', async () => {
    const longName = tarOf([{ path: 'x', content: Buffer.alloc(900_000, 'a') }])
    longName[156] = 'L'.charCodeAt(0)
    const header = longName.subarray(0, 512)
    header.fill(' ', 148, 156)
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    const names = gzipSync(Buffer.concat(Array.from({ length: 40 }, () => longName.subarray(0, 512 + 900_096))))
    expect(await rejection(streamOf(names))).toMatch(/times its size|20 MB/)
  })

  test('an archive that is compressed twice', async () => {
    const inner = gzipSync(tarOf([{ path: 'zeros', content: Buffer.alloc(5e6) }]))
    expect(await rejection(streamOf(gzipSync(inner)))).toContain('cannot be unpacked')
  })

  test.each([
    ['not gzip', Buffer.from('hello')],
    ['an empty file', Buffer.alloc(0)],
    ['gzip without a tar', gzipSync(Buffer.alloc(2000, 'x'))],
    ['an empty tar', gzipSync(tarOf([]))],
    ['truncated', gzipSync(tarOf([{ path: 'a', content: Buffer.from('0123456789'.repeat(1000)) }])).subarray(0, 60)],
    ['truncated within a file', gzipSync(tarOf([{ path: 'a', content: 'x'.repeat(5000) }]).subarray(0, 2000))],
  ])('a damaged archive: %s', async (_, bytes) => {
    expect(await rejection(streamOf(bytes))).toMatch(/damaged|cannot be unpacked|empty/)
  })
})

test.runIf(process.platform === 'linux')('a rejected archive leaves no file open', async () => {
  await rejection(archiveOf([{ path: 'bomb', content: Buffer.alloc(12e6) }]))
  const open = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      // The list includes the descriptor with which the folder was listed, which has been closed.
      return []
    }
  })
  expect(open.filter((path) => path.startsWith(root))).toEqual([])
})

test('an archive whose folder has been deleted fails', async () => {
  rmSync(root, { recursive: true })
  await expect(unpack(archiveOf([{ path: 'file', content: 'x' }]))).rejects.toThrow()
  mkdirSync(root)
})

test('an archive that cannot be read is not reported as the user’s fault', async () => {
  const broken = () =>
    new Readable({
      read() {
        this.destroy(new Error('the store is unavailable'))
      },
    })
  await expect(unpack(broken)).rejects.toThrow('the store is unavailable')
  await expect(unpack(broken)).rejects.not.toBeInstanceOf(BuildFailure)
})
