import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { list } from 'tar'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { packLayer } from './pack-layer.ts'
import { treeLayer } from './tree-layer.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'layer-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const signal = new AbortController().signal

/** Creates files in the given order. */
function makeTree(name: string, files: Record<string, string>): string {
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, name, path)
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, content)
  }
  return join(folder, name)
}

async function pack(from: string, omitted: string[] = []) {
  const file = join(folder, 'layer.tar.gz')
  const onOmitted = (sentence: string) => omitted.push(sentence)
  const layer = await packLayer(treeLayer({ from, to: 'squid', onOmitted }), file, signal)
  return { ...layer, file }
}

async function listed(file: string): Promise<string[]> {
  const entries: string[] = []
  await list({
    file,
    onReadEntry: ({ type, path, mode, uid, gid, mtime, linkpath }) => {
      const owner = `${uid}:${gid} ${(mtime?.getTime() ?? 0) / 1000}`
      entries.push([type, path, (mode ?? 0).toString(8), owner, linkpath].filter(Boolean).join(' '))
    },
  })
  return entries
}

test('the same content results in the same layer, regardless of times, owner, modes and order of creation', async () => {
  const first = makeTree('first', { 'b.txt': 'b', 'a/x.js': 'x', [`${'long/'.repeat(40)}é.txt`]: '' })
  const second = makeTree('second', { [`${'long/'.repeat(40)}é.txt`]: '', 'a/x.js': 'x', 'b.txt': 'b' })
  utimesSync(join(second, 'b.txt'), 1, 1)
  chmodSync(join(second, 'a'), 0o700)
  chmodSync(join(second, 'b.txt'), 0o640)
  const { file: _first, ...one } = await pack(first)
  const { file: _second, ...other } = await pack(second)
  expect(other).toEqual(one)
  writeFileSync(join(second, 'b.txt'), 'c')
  expect((await pack(second)).descriptor.digest).not.toBe(one.descriptor.digest)
})

test('all entries are owned by root and not writable by others; special bits are cleared, and pipes are omitted', async () => {
  const tree = makeTree('tree', { 'run.sh': '', 'plain.txt': '' })
  chmodSync(join(tree, 'run.sh'), 0o4777)
  chmodSync(join(tree, 'plain.txt'), 0o666)
  symlinkSync('run.sh', join(tree, 'link'))
  execFileSync('mkfifo', [join(tree, 'pipe')])
  const { file } = await pack(tree)
  expect(await listed(file)).toEqual([
    'Directory squid/ 755 0:0 1',
    'SymbolicLink squid/link 777 0:0 1 run.sh',
    'File squid/plain.txt 644 0:0 1',
    'File squid/run.sh 755 0:0 1',
  ])
})

test('a layer omits links that leave the tree, and names by which a layer would delete files of other layers', async () => {
  const tree = makeTree('tree', { 'a/inside.txt': '', '.wh.etc': '', 'a/.wh..wh..opq': '', 'a/not.wh.txt': '' })
  const links = { absolute: '/etc/passwd', above: '../etc/passwd', 'a/above': '../../x', 'a/prefix': '../../squid-b/x' }
  for (const [path, target] of Object.entries(links)) symlinkSync(target, join(tree, path))
  symlinkSync('../a/inside.txt', join(tree, 'a/kept'))
  symlinkSync('a/missing', join(tree, 'dangling'))
  const omitted: string[] = []
  const { file } = await pack(tree, omitted)
  expect((await listed(file)).map((line) => line.split(' ')[1])).toEqual([
    'squid/',
    'squid/a/',
    'squid/a/inside.txt',
    'squid/a/kept',
    'squid/a/not.wh.txt',
    'squid/dangling',
  ])
  expect(omitted.map((sentence) => sentence.split(' ')[0]).toSorted((a = '', b = '') => (a < b ? -1 : 1))).toEqual([
    'squid/.wh.etc',
    'squid/a/.wh..wh..opq',
    'squid/a/above',
    'squid/a/prefix',
    'squid/above',
    'squid/absolute',
  ])
})

test('packing leaves no file when it is cancelled', async () => {
  const aborted = AbortSignal.abort(new Error('cancelled'))
  const file = join(folder, 'cancelled')
  await expect(packLayer(treeLayer({ from: folder, to: 'squid' }), file, aborted)).rejects.toThrow('cancelled')
  expect(execFileSync('ls', [folder]).toString()).not.toContain('cancelled')
})
