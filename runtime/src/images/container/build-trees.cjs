'use strict'
// Packs and unpacks the dependencies of a build, with synchronous calls: asynchronous ones take several times the CPU for thousands of files.
const fs = require('node:fs')
const path = require('node:path')

const BLOCK = 512
/** Bytes that are collected before they are sent. */
const PIECE_BYTES = 1 << 18

/**
 * Yields a tar of the folders `full` and `production` in `folder`. What both have at the same path (the same file, an equal link) is below
 * `common/`, and the rest below `full/` or `production/`, so no file is sent twice. `isIncluded` receives the folder `full` or
 * `production`, and a path in it with its stats.
 */
function* packDependencies(tar, folder, isIncluded) {
  let blocks = []
  let bytes = 0
  for (const block of tarOf(tar, folder, isIncluded)) {
    blocks.push(block)
    bytes += block.length
    if (bytes < PIECE_BYTES) continue
    yield Buffer.concat(blocks)
    blocks = []
    bytes = 0
  }
  yield Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)])
}

/** Yields the headers, contents and paddings of all entries. The first one is a folder without content, since an archive is never empty. */
function* tarOf(tar, folder, isIncluded) {
  const full = path.join(folder, 'full')
  yield* blocksOf(tar, full, 'common', fs.lstatSync(full))
  for (const { side, relative, stats, prefix } of entriesOf(folder, isIncluded))
    yield* blocksOf(tar, path.join(folder, side, relative), `${prefix}/${relative}`, stats)
}

/** Yields the entries below `parent` of the folders `sides`, folders before their content. */
function* entriesOf(folder, isIncluded, sides = ['full', 'production'], parent = '') {
  const names = new Set(sides.flatMap((side) => fs.readdirSync(path.join(folder, side, parent))))
  for (const name of [...names].sort()) {
    const relative = parent === '' ? name : `${parent}/${name}`
    const found = sides
      .map((side) => ({ side, stats: fs.lstatSync(path.join(folder, side, relative), { throwIfNoEntry: false }) }))
      .filter(({ side, stats }) => stats !== undefined && isIncluded(path.join(folder, side), relative, stats))
    const isCommon = found.length === 2 && isSame(folder, relative, found)
    for (const { side, stats } of isCommon ? found.slice(0, 1) : found) {
      yield { side, relative, stats, prefix: isCommon ? 'common' : side }
      if (stats.isDirectory()) yield* entriesOf(folder, isIncluded, isCommon ? sides : [side], relative)
    }
  }
}

/** True for two folders, for two hard links of one file, and for two links with the same target. */
function isSame(folder, relative, [first, second]) {
  if (first.stats.isDirectory() || second.stats.isDirectory())
    return first.stats.isDirectory() && second.stats.isDirectory()
  if (first.stats.isFile()) return first.stats.ino === second.stats.ino && first.stats.dev === second.stats.dev
  const targetOf = ({ side }) => fs.readlinkSync(path.join(folder, side, relative))
  return second.stats.isSymbolicLink() && targetOf(first) === targetOf(second)
}

function* blocksOf(tar, file, name, stats) {
  const size = stats.isFile() ? stats.size : 0
  const entry = {
    path: stats.isDirectory() ? `${name}/` : name,
    type: stats.isDirectory() ? 'Directory' : stats.isFile() ? 'File' : 'SymbolicLink',
    mode: stats.mode & 0o777,
    size,
    mtime: new Date(0),
    linkpath: stats.isSymbolicLink() ? fs.readlinkSync(file) : '',
    uid: 0,
    gid: 0,
  }
  const header = new tar.Header(entry)
  if (header.encode()) yield new tar.Pax(entry).encode()
  yield header.block
  if (size > 0) yield* contentOf(file, size)
  if (size % BLOCK > 0) yield Buffer.alloc(BLOCK - (size % BLOCK))
}

/** Yields the content of a file in pieces. @throws Error if it has less than `size` bytes */
function* contentOf(file, size) {
  const opened = fs.openSync(file, 'r')
  try {
    for (let remaining = size; remaining > 0;) {
      const piece = Buffer.allocUnsafe(Math.min(remaining, PIECE_BYTES))
      const bytes = fs.readSync(opened, piece)
      if (bytes === 0) throw new Error(`${file} became shorter while it was read`)
      remaining -= bytes
      yield piece.subarray(0, bytes)
    }
  } finally {
    fs.closeSync(opened)
  }
}

/** Unpacks what such a tar has below `common/` and below `full/` into the folder `to`. The worker has checked the tar. */
async function unpackFull(tar, stream, to) {
  const folders = new Set([to])
  const makeFolder = (folder) => {
    if (folders.has(folder)) return
    fs.mkdirSync(folder, { recursive: true })
    folders.add(folder)
  }
  const parser = new tar.Parser({ strict: true })
  let failure = null
  parser.on('error', (error) => (failure ??= error))
  parser.on('entry', (entry) => {
    const [, relative] = /^(?:common|full)\/(.*?)\/?$/.exec(entry.path) ?? []
    if (relative !== undefined) {
      const target = path.join(to, relative)
      makeFolder(entry.type === 'Directory' ? target : path.dirname(target))
      if (entry.type === 'SymbolicLink') fs.symlinkSync(entry.linkpath, target)
      if (entry.type === 'File') writeContent(entry, target)
    }
    entry.resume()
  })
  for await (const chunk of stream) {
    parser.write(chunk)
    if (failure !== null) throw failure
  }
  parser.end()
  if (failure !== null) throw failure
}

function writeContent(entry, target) {
  const file = fs.openSync(target, 'wx', entry.mode & 0o100 ? 0o755 : 0o644)
  entry.on('data', (chunk) => fs.writeFileSync(file, chunk))
  entry.on('end', () => fs.closeSync(file))
}

module.exports = { packDependencies, unpackFull }
