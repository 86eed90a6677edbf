import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BuildFailure } from '../builder.ts'
import { streamOf } from './archive-harness.ts'
import { resolveLink } from './archive-rules.ts'
import { asInMessages, type HostileArchive, hostileArchives } from './hostile-archives-harness.ts'
import { walk } from './tree.ts'
import { unpackArchive } from './unpack-archive.ts'

const isLarge = process.env['SHOAL_TEST_FULL'] === 'true'
const count = isLarge ? 5_000 : 200
const seed = Number(process.env['SHOAL_TEST_SEED'] ?? 20_261_123)
const limits = { totalBytes: 2e6, files: 500, ratio: 100 }
/** A generous time limit for one archive: the largest is 8 MB. */
const maxMs = 30_000

let dir: string
let root: string

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'shoal-hostile-'))
  root = join(dir, 'above/tree')
  mkdirSync(join(dir, 'above'))
  writeFileSync(join(dir, 'above/outside'), 'untouched')
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** Lists the faults of the unpacked tree. */
async function faultsOfTree(): Promise<string[]> {
  const faults: string[] = []
  const links = new Map<string, string>()
  let bytes = 0
  let count = 0
  for await (const { path, absolute, stats } of walk(root)) {
    count += 1
    if (stats.isSymbolicLink()) links.set(path, readlinkSync(absolute))
    else if (stats.isFile()) bytes += stats.size
    else if (!stats.isDirectory()) faults.push(`${path} is a special file`)
    if (!stats.isSymbolicLink() && (stats.mode & 0o7022) !== 0)
      faults.push(`${path} has the mode ${stats.mode.toString(8)}`)
  }
  for (const [path, target] of links)
    if (resolveLink(links, path) === null || posix.isAbsolute(target)) faults.push(`${path} leads to ${target}`)
  if (bytes > limits.totalBytes) faults.push(`${bytes} bytes`)
  if (count > limits.files) faults.push(`${count} files`)
  return faults
}

/** Lists the faults of a rejection's message. */
function faultsOfRejection(error: unknown, { rejectedPath }: HostileArchive): string[] {
  if (!(error instanceof BuildFailure)) return [`failed with ${String(error)}`]
  const { kind, message } = error
  const faults = kind === 'REQUIRED_SOURCE_FILE_INVALID' ? [] : [`has the kind ${kind}`]
  if (!message.endsWith('.') || message.length > 600) faults.push(`is not a short sentence: ${message}`)
  if (message.includes(dir)) faults.push(`reveals a path of the host: ${message}`)
  // oxlint-disable-next-line no-control-regex -- detects control characters
  if (/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/.test(message))
    faults.push(`contains control characters: ${JSON.stringify(message)}`)
  if (rejectedPath !== null && !message.includes(asInMessages(rejectedPath)))
    faults.push(`does not name ${rejectedPath}: ${message}`)
  return faults
}

async function faultsOf(archive: HostileArchive): Promise<string[]> {
  mkdirSync(root)
  const startedAt = performance.now()
  try {
    const error: unknown = await unpackArchive(streamOf(archive.bytes)(), root, limits).then(
      () => null,
      (reason: unknown) => reason ?? new Error('no reason'),
    )
    const faults = error === null ? [] : faultsOfRejection(error, archive)
    if (error === null && archive.rejectedPath !== null) faults.push('was accepted')
    if (performance.now() - startedAt > maxMs) faults.push(`took ${performance.now() - startedAt} ms`)
    if (readdirSync(dir).length > 1 || readdirSync(join(dir, 'above')).length > 2) faults.push('wrote outside')
    if (readFileSync(join(dir, 'above/outside'), 'utf8') !== 'untouched') faults.push('changed a file outside')
    return [...faults, ...(await faultsOfTree())]
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

test(`${count} hostile archives are unpacked safely or rejected with a sentence that names the offending path`, async () => {
  const faults: string[] = []
  let passed = 0
  const rssBefore = process.memoryUsage().rss
  for (const archive of hostileArchives(seed, count)) {
    const found = await faultsOf(archive)
    faults.push(...found.map((fault) => `${archive.title}: ${fault}`))
    if (found.length === 0) passed++
  }
  expect(faults.slice(0, 20)).toEqual([])
  expect(passed).toBe(count)
  // Unpacking an archive into memory, or never releasing it, would exceed this limit.
  expect(process.memoryUsage().rss - rssBefore).toBeLessThan(500e6)
}, 600_000)

test('the same seed generates the same archives', () => {
  const titles = (archives: Iterable<HostileArchive>) =>
    [...archives].map(({ title, bytes }) => `${title} ${bytes.length}`)
  expect(titles(hostileArchives(7, 150))).toEqual(titles(hostileArchives(7, 150)))
})
