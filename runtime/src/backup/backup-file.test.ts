import {
  appendFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { zstdCompressSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  checkBackupContent,
  readBackupContent,
  readBackupManifest,
  writeBackupFile,
  type ContentChecksum,
} from './backup-file.ts'
import { PushedImages } from '../images/pushed-images.ts'
import { clusterEntries, walEntries } from './cluster-entries.ts'
import { bufferEntry, treeEntries } from './read-entries.ts'
import { relocateImages } from './relocate-images.ts'
import { stateEntries, type StateSummary } from './state-entries.ts'
import { headerOf, type TarEntry } from './tar-stream.ts'
import { unpackBackup } from './unpack-backup.ts'

let dir: string
let source: string
let target: string
let file: string
const { signal } = new AbortController()

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'shoal-backup-'))
  ;[source, target, file] = [join(dir, 'source'), join(dir, 'target'), join(dir, 'backup.tar')]
  mkdirSync(source)
  mkdirSync(target)
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

async function* entriesOf(...entries: TarEntry[]): AsyncGenerator<TarEntry> {
  yield* entries
}
const metadata = { mode: 0o644, mtime: new Date(0) }
const writeBackup = (entries: AsyncIterable<TarEntry>) =>
  writeBackupFile(file, entries, (content) => ({ content }), signal)
const unpack = (content: ContentChecksum) => unpackBackup(readBackupContent(file, content), target, signal)
const roundTrip = async (entries: AsyncIterable<TarEntry>) => await unpack(await writeBackup(entries))
const text = (path: string, content: string, mode = 0o644) => bufferEntry(path, Buffer.from(content), mode, new Date(0))

/** Creates a file below the source, with its folders. */
function createFile(path: string, content: string, mode = 0o644): string {
  const absolute = join(source, path)
  mkdirSync(join(absolute, '..'), { recursive: true })
  writeFileSync(absolute, content, { mode })
  return absolute
}

describe('a backup file', () => {
  test('contains its manifest; a single changed bit in its content is detected', async () => {
    const content = await writeBackup(entriesOf(text('uploads/a', 'a'.repeat(100_000))))
    expect(await readBackupManifest(file)).toEqual({ content })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await checkBackupContent(file, content, signal)
    const bytes = readFileSync(file)
    const middle = bytes.length - 1024 - 512 * Math.ceil(content.bytes / 512) + Math.floor(content.bytes / 2)
    bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle)
    writeFileSync(file, bytes)
    await expect(checkBackupContent(file, content, signal)).rejects.toThrow('is damaged')
  })

  test('does not exist if writing it fails', async () => {
    const failing = (async function* () {
      yield text('uploads/a', 'a')
      throw new Error('Disk failure')
    })()
    await expect(writeBackup(failing)).rejects.toThrow('Disk failure')
    expect(readdirSync(dir).sort()).toEqual(['source', 'target'])
  })

  test('contains changing files with their initial size, and skips deleted ones', async () => {
    const [shrinking, growing, deleted] = ['a', 'b', 'c'].map((name) => createFile(name, name.repeat(2_000)))
    const entries = (async function* () {
      for await (const entry of treeEntries(source, 'uploads')) {
        if (entry.path === 'uploads/a') truncateSync(shrinking ?? '', 1_000)
        if (entry.path === 'uploads/b') appendFileSync(growing ?? '', 'more')
        if (entry.path === 'uploads/b') rmSync(deleted ?? '')
        yield entry
      }
    })()
    await roundTrip(entries)
    const read = (name: string) => readFileSync(join(target, 'uploads', name), 'latin1')
    expect(read('a')).toBe('a'.repeat(1_000) + '\0'.repeat(1_000))
    expect(read('b')).toBe('b'.repeat(2_000))
    expect(readdirSync(join(target, 'uploads'))).toEqual(['a', 'b'])
  })
})

test('a cluster is copied without the files of its running server, with its control file after all other data files', async () => {
  const included = ['PG_VERSION', 'base/5/16384', 'base/5/t_1', 'pg_wal/000000010000000000000002', 'global/pg_control']
  const excluded = ['postmaster.pid', 'base/5/t3_16400', 'base/5/pg_internal.init', 'base/pgsql_tmp/pgsql_tmp12.0']
  for (const path of [
    ...included,
    ...excluded,
    'pg_replslot/x/state',
    'pg_wal/000000010000000000000001',
    'backup_label',
  ])
    createFile(path, path)
  const entries = (async function* () {
    yield* clusterEntries(source, 'postgres/data')
    yield* walEntries(source, 'postgres/data', ['000000010000000000000002'])
  })()
  const paths: string[] = []
  const recordedEntries = (async function* () {
    for await (const entry of entries) {
      if (entry.type === 'File') paths.push(entry.path.replace('postgres/data/', ''))
      yield entry
    }
  })()
  await roundTrip(recordedEntries)
  expect(paths.slice(-2)).toEqual(['global/pg_control', 'pg_wal/000000010000000000000002'])
  expect(paths.toSorted()).toEqual(included.toSorted())
  for (const path of included) expect(readFileSync(join(target, 'postgres/data', path), 'utf8')).toBe(path)
  expect(existsSync(join(target, 'postgres/data/pg_replslot'))).toBe(true)
  await expect(Array.fromAsync(walEntries(source, 'x', ['000000010000000000000009']))).rejects.toThrow('Try again')
})

describe('the state of squids', () => {
  const image = 'images/0a'
  const tools = () => ({
    nodeBinDir: join(source, 'toolchain/node-1/node_modules/node/bin'),
    toolchainBinDir: join(source, 'toolchain/abc/bin'),
    managerBinDir: null,
  })

  test('an image can be restored to another path, with its tools, file modes, hard links and symbolic links', async () => {
    const longPath = `${image}/app/${'folder/'.repeat(30)}${'n'.repeat(150)}`
    const first = createFile(`${image}/app/index.js`, 'code')
    createFile(`${image}/app/run`, 'run', 0o755)
    createFile(longPath, 'deep')
    mkdirSync(join(source, 'images/0b/app'), { recursive: true })
    linkSync(first, join(source, 'images/0b/app/index.js'))
    symlinkSync('../index.js', join(source, image, 'app/folder/index'))
    symlinkSync('/etc/passwd', join(source, image, 'app/absolute'))
    symlinkSync('../../../secrets.key', join(source, image, 'app/escaping'))
    for (const name of ['0a', '0b']) createFile(`images/${name}/image.json`, JSON.stringify({ ...tools(), sdk: null }))
    for (const path of ['node-1/package.json', 'abc/bin/sqd', 'unused/package.json'])
      createFile(`toolchain/${path}`, path)
    createFile('containers/c/workload.json', 'a plaintext secret')
    createFile('secrets.key', 'key')

    const summary: StateSummary = { images: 0, tools: 0, skipped: [] }
    const skipped = await roundTrip(stateEntries(source, summary))
    expect(summary).toEqual({ images: 2, tools: 2, skipped: [] })
    expect(skipped.toSorted()).toEqual([`${image}/app/absolute`, `${image}/app/escaping`])
    expect(readdirSync(target).toSorted()).toEqual(['images', 'toolchain'])
    expect(readdirSync(join(target, 'toolchain')).toSorted()).toEqual(['abc', 'node-1'])
    expect(readFileSync(join(target, longPath), 'utf8')).toBe('deep')
    expect(statSync(join(target, image, 'app/run')).mode & 0o777).toBe(0o755)
    expect(readlinkSync(join(target, image, 'app/folder/index'))).toBe('../index.js')
    const inodes = ['0a', '0b'].map((name) => statSync(join(target, 'images', name, 'app/index.js')).ino)
    expect(inodes[0]).toBe(inodes[1])

    await relocateImages(join(target, 'images'), source, target)
    const relocated: unknown = JSON.parse(readFileSync(join(target, image, 'image.json'), 'utf8'))
    expect(relocated).toMatchObject({ toolchainBinDir: join(target, 'toolchain/abc/bin'), managerBinDir: null })
  })

  test('the records of images in a registry are restored, and their layers and unfinished records are not', async () => {
    const digest = `sha256:${'a'.repeat(64)}`
    const dir = join(source, 'oci/images')
    mkdirSync(dir, { recursive: true })
    const record = { local: '0a', repository: 'registry.example.com/o1', digest, pushedAtMs: 1 }
    await (await PushedImages.open(dir)).save(record)
    createFile('oci/images/unfinished.json.1', '{')
    createFile('oci/layers/layer.json', '{}')
    expect(await roundTrip(stateEntries(source, { images: 0, tools: 0, skipped: [] }))).toEqual([])
    expect(readdirSync(join(target, 'oci'))).toEqual(['images'])
    expect((await PushedImages.open(join(target, 'oci/images'))).list()).toEqual([record])
  })

  test('an image removed during the backup is not restored', async () => {
    createFile(`${image}/app/a`, 'a')
    createFile(`${image}/image.json`, JSON.stringify(tools()))
    const summary: StateSummary = { images: 0, tools: 0, skipped: [] }
    const entries = (async function* () {
      for await (const entry of stateEntries(source, summary)) {
        if (entry.path === `${image}/app/a`) rmSync(join(source, image), { recursive: true })
        yield entry
      }
    })()
    await roundTrip(entries)
    expect(summary.images).toBe(0)
    expect(existsSync(join(target, image, 'image.json'))).toBe(false)
  })
})

describe('a tampered backup', () => {
  const link = (path: string, type: 'Link' | 'SymbolicLink', linkpath: string): TarEntry => ({
    ...metadata,
    path,
    type,
    linkpath,
  })

  test.each<[string, TarEntry]>([
    ['points outside', text('uploads/../../evil', '')],
    ['absolute path', text('/evil', '')],
    ['is not part of a backup', text('server.pid', '')],
    ['is not part of a backup', text('constructor', '')],
    ['is a SymbolicLink', link('uploads/evil', 'SymbolicLink', '../evil')],
    ['is a Link', link('postgres/data/evil', 'Link', 'images/a/b')],
    ['which is not in images or toolchain', link('images/a/evil', 'Link', 'secrets.key')],
    ['points outside', link('images/a/evil', 'Link', 'images/../../evil')],
  ])('is rejected: %s', async (reason, entry) => {
    await expect(roundTrip(entriesOf(entry))).rejects.toThrow(reason)
    expect(existsSync(join(dir, 'evil'))).toBe(false)
    expect(lstatSync(join(target, entry.path), { throwIfNoEntry: false })).toBeUndefined()
  })

  test('is rejected: an entry of a type that tar ignores', async () => {
    const header = Buffer.from(headerOf(text('images/a/file', ''), 0))
    header.write('Z', 156)
    header.write('        ', 148)
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    const tar = zstdCompressSync(Buffer.concat([header, Buffer.alloc(1024)]))
    await expect(unpackBackup(Readable.from([tar]), target, signal)).rejects.toThrow('images/a/file')
  })

  test.runIf(process.platform === 'linux')('leaves no file open when its restore is aborted', async () => {
    const openFiles = () =>
      readdirSync('/proc/self/fd').filter((fd) => {
        const path = `/proc/self/fd/${fd}`
        return existsSync(path) && readlinkSync(path).startsWith(target)
      })
    const header = headerOf(text('uploads/large', 'x'.repeat(5_000_000)), 5_000_000)
    const controller = new AbortController()
    const endless = async function* () {
      yield zstdCompressSync(Buffer.concat([header, Buffer.alloc(1_000_000)]))
      await expect.poll(openFiles).not.toEqual([])
      controller.abort(new Error('stopped by the operator'))
      yield Buffer.alloc(0)
    }
    const aborted = unpackBackup(Readable.from(endless()), target, controller.signal)
    await expect(aborted).rejects.toThrow('stopped by the operator')
    expect(openFiles()).toEqual([])
  })

  test('cannot write files outside of the target through its links', async () => {
    const skipped = await roundTrip(
      entriesOf(link('images/a/out', 'SymbolicLink', '../../..'), text('images/a/out/evil', 'evil', 0o644)),
    ).catch((error: NodeJS.ErrnoException) => error.code)
    expect(skipped).toEqual(['images/a/out'])
    expect(existsSync(join(dir, 'evil'))).toBe(false)
  })
})
