import { gzipSync } from 'node:zlib'

/** A generated archive. */
export type HostileArchive = {
  /** Describes how it was generated. */
  title: string
  bytes: Buffer
  /** A path that a rejection must name; null if the archive may be accepted or its damage concerns no single path. */
  rejectedPath: string | null
}

/** Returns a path as messages show it, without quotes. */
export const asInMessages = (path: string): string =>
  JSON.stringify(path)
    .slice(1, -1)
    .replace(/[^\u0020-\u007e]/g, (c) =>
      /[\u00a0-\u0600\ufffd]/.test(c) ? c : `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )

/** Returns numbers in [0, 1), the same for the same seed (mulberry32). */
type Random = () => number

function randomOf(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const BLOCK = 512

/** A raw tar header and its body. Fields that are buffers are written as they are. */
type Entry = {
  name: string | Buffer
  type?: string
  body?: Buffer
  /** The size in the header; by default the length of the body. */
  size?: number | Buffer
  link?: string
  mode?: number
  prefix?: string
  isChecksumWrong?: boolean
}

const file = (name: string, body = 'content'): Entry => ({ name, body: Buffer.from(body) })
const folder = (name: string): Entry => ({ name, type: '5' })
const link = (name: string, target: string): Entry => ({ name, type: '2', link: target })
const hardLink = (name: string, target: string): Entry => ({ name, type: '1', link: target })

function encode({ name, type = '0', body = Buffer.alloc(0), size = body.length, ...entry }: Entry): Buffer {
  const { link: target = '', mode = 0o644, prefix = '', isChecksumWrong = false } = entry
  const header = Buffer.alloc(BLOCK)
  Buffer.from(name).copy(header, 0, 0, 100)
  header.write(`${(mode & 0o7777777).toString(8).padStart(7, '0')}\0`, 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  if (typeof size === 'number') header.write(`${size.toString(8).padStart(11, '0')}\0`, 124)
  else size.copy(header, 124, 0, 12)
  header.write('00000000000\0', 136)
  header.fill(' ', 148, 156)
  header.write(type, 156)
  Buffer.from(target).copy(header, 157, 0, 100)
  header.write('ustar\u000000', 257)
  Buffer.from(prefix).copy(header, 345, 0, 155)
  const sum = header.reduce((total, byte) => total + byte, isChecksumWrong ? 1 : 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([header, body, Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK)])
}

/** An entry that overrides fields of the next entry (pax `x`) or of all later ones (global pax `g`). */
function pax(records: Record<string, string>, type = 'x'): Entry {
  const lines = Object.entries(records).map(([key, value]) => {
    const text = ` ${key}=${value}\n`
    const bytes = Buffer.byteLength(text)
    const length = bytes + String(bytes + String(bytes).length).length
    return `${length}${text}`
  })
  return { name: 'PaxHeader/x', type, body: Buffer.from(lines.join('')) }
}
const longName = (name: string): Entry => ({ name: '././@LongLink', type: 'L', body: Buffer.from(`${name}\0`) })

// Created once, because they are large.
const zeros = Buffer.alloc(8 * 1024 * 1024)
const largeHeaders = [100_000, 2_000_000].map((length) => pax({ comment: 'c'.repeat(length) }))

/** Entries that attack the unpacker. `rejectedPath`: see `HostileArchive`. */
type Attack = { title: string; entries: Entry[]; rejectedPath: string | null }

const base256 = (first: number, rest: number) => Buffer.from([first, ...Array.from({ length: 11 }, () => rest)])

/** Returns the attacks, with file names that `random` chooses. `n` keeps the paths of several attacks in one archive distinct. */
function attacks(random: Random, n: number): Attack[] {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
  const name = `${pick(['a', 'src/b', 'x/y/z', 'über', 'd e'])}${n}`
  const outside = pick(['../outside', '../../outside', 'a/../../outside', './../outside', 'a/b/../../../outside'])
  const absolute = pick(['/etc/passwd', '/tmp/hostile', '//tmp/hostile', 'C:/hostile', 'C:\\hostile', '\\hostile'])
  const control = pick(['\n', '\r', '\t', '\u001b[2J', '\u007f', '\u0007', '\u0085', '\u2028'])
  const direction = pick(['\u202e', '\u202d', '\u2066', '\u2067', '\u2069', '\u200f', '\u200e', '\u061c'])
  const one = (title: string, entry: Entry, rejectedPath: string | null = String(entry.name)): Attack => ({
    title,
    entries: [entry],
    rejectedPath,
  })
  const several = (title: string, entries: Entry[], rejectedPath: string | null): Attack => ({
    title,
    entries,
    rejectedPath,
  })
  return [
    one('traversal', file(outside)),
    one('traversal of a folder', folder(`${outside}/`)),
    several('traversal in a pax header', [pax({ path: outside }), file(name)], outside),
    several('traversal in a long name', [longName(outside), file(name)], outside),
    several('traversal in a global pax header', [pax({ path: outside }, 'g'), file(name)], null),
    one('traversal through a prefix', { ...file('outside'), prefix: '..' }, '../outside'),
    one('absolute path', file(absolute)),
    several('absolute path in a pax header', [pax({ path: absolute }), file(name)], absolute),
    one('link to an absolute path', link(name, absolute)),
    one('link to a folder above', link(name, `${'../'.repeat(1 + name.split('/').length)}outside`)),
    several('link in a pax header', [pax({ linkpath: '../../../../outside' }), link(name, 'inside')], name),
    one('hard link to a file outside', hardLink(name, outside)),
    one('hard link to an absolute path', hardLink(name, absolute)),
    one('hard link to a missing file', hardLink(name, `missing${n}`), null),
    several('hard link to a link', [link(`${name}.l`, 'squid.yaml'), hardLink(name, `${name}.l`)], null),
    several('hard link to a file', [file(`${name}.f`), hardLink(name, `${name}.f`)], null),
    several('file behind a link', [folder(`t${n}/`), link(`l${n}`, `t${n}`), file(`l${n}/f`)], `l${n}`),
    several('link replaced by a folder', [link(`l${n}`, 'src'), folder(`l${n}/`)], `l${n}`),
    several('folder replaced by a link', [folder(`l${n}/`), file(`l${n}/f`), link(`l${n}`, '.')], `l${n}`),
    several('link replaced by a file', [link(`l${n}`, 'squid.yaml'), file(`l${n}`)], `l${n}`),
    several(
      'chain of links that ends outside',
      [link(`one${n}`, '.'), link(`two${n}`, `one${n}/one${n}`), link(`three${n}`, `two${n}/../../outside`)],
      `three${n}`,
    ),
    several('cycle of links', [link(`one${n}`, `two${n}`), link(`two${n}`, `one${n}`)], `one${n}`),
    several('link to itself', [link(`self${n}`, `self${n}`)], `self${n}`),
    one('link without a target', link(name, ''), null),
    one('link with control characters in its target', link(name, `x${control}y`)),
    one('device', { name, type: pick(['3', '4']) }),
    one('pipe', { name, type: '6' }),
    one('sparse file', { ...file(name), type: 'S' }),
    one('unknown type', { ...file(name), type: pick(['D', 'M', 'V', 'N', 'Z', '9', '\0']) }, null),
    several('file and folder of one path', [file(`both${n}`), folder(`both${n}/`)], `both${n}`),
    several('folder and file of one path', [folder(`both${n}/`), file(`both${n}`)], `both${n}`),
    several('file that is also a parent', [file(`both${n}`), file(`both${n}/inside`)], `both${n}`),
    several('parent that is also a file', [file(`both${n}/inside`), file(`./both${n}`)], `both${n}`),
    several('file twice', [file(name, 'one'), file(name, 'two')], null),
    one('control character', file(`x${control}y${n}`)),
    one('valid file', file(name), null),
    several('NUL in a pax header', [pax({ path: `x\0y${n}` }), file(name)], null),
    one('right-to-left mark', file(`x${direction}y${n}`)),
    several(
      'right-to-left mark in a pax header',
      [pax({ path: `${direction}${name}` }), file(name)],
      `${direction}${name}`,
    ),
    several('names that differ only in their normal form', [file(`caf\u00e9${n}`), file(`cafe\u0301${n}`)], null),
    several('names that differ only in case', [file(`Readme${n}`), file(`README${n}`)], null),
    one('bytes that are not UTF-8', { ...file(''), name: Buffer.from([0x78, 0xff, 0xfe, 0x79]) }, '\ufffd'),
    several('long name', [longName('n'.repeat(pick([256, 300, 5_000, 200_000]))), file(name)], 'nnnn'),
    several('long path', [longName(`${'p'.repeat(200)}/`.repeat(pick([6, 30]))), file(name)], 'pppp'),
    several('deep folders', [longName('d/'.repeat(pick([65, 200, 500]))), file(name)], 'd/d/d'),
    several('pax header with a size that is too small', [pax({ size: '1' }), file(name, 'x'.repeat(2_000))], null),
    several('pax header with a size that is too large', [pax({ size: '9999999999' }), file(name)], null),
    several(
      'pax header with a size that is not a number',
      [pax({ size: pick(['x', '-5', '1e9', 'NaN', '']) }), file(name)],
      null,
    ),
    several('size in a global pax header', [pax({ size: '123456' }, 'g'), file(name)], null),
    one('negative size', { ...file(name), size: base256(0xff, pick([0xff, 0x00, 0x7f])) }, null),
    one('huge size', { ...file(name), size: base256(0x80, pick([0xff, 0x7f, 0x01])) }, null),
    one('largest octal size', { ...file(name), size: 0o77777777777 }, null),
    one('size that is not a number', { ...file(name), size: Buffer.from('zzzzzzzzzzz\0') }, null),
    one('folder with a body', { name: `${name}/`, type: '5', body: Buffer.alloc(1_000, 'x') }, null),
    one('link with a body', { ...link(name, 'squid.yaml'), body: Buffer.alloc(1_000, 'x') }, null),
    one('file with a link target', { ...file(name), link: 'squid.yaml' }, null),
    one('setuid bits', { ...file(name), mode: pick([0o4755, 0o2755, 0o6777, 0o1777, 0o7777]) }, null),
    one('odd mode', { ...file(name), mode: pick([0, 0o111, 0o7777777]) }, null),
    one('wrong checksum', { ...file(name), isChecksumWrong: true }, null),
    one('bomb of zeros', { name, body: zeros }, null),
    one('large pax header', pick(largeHeaders), null),
    several(
      'pax header without its length',
      [{ name: 'x', type: 'x', body: Buffer.from('path=oops\n') }, file(name)],
      null,
    ),
    several(
      'many pax headers',
      Array.from({ length: 200 }, () => pax({ path: outside })),
      null,
    ),
    several('empty name', [{ ...file(''), name: '' }], null),
    several('root as a file', [file('.')], null),
    several('root as a link', [link('./', 'squid.yaml')], null),
    several('ignored folder', [file(`node_modules/x${n}`), file(`.git/x${n}`), file('.env')], null),
    several('link named like an ignored folder', [link('node_modules', '.'), file(`.git/hooks/x${n}`)], null),
    several(
      'many folders in few entries',
      Array.from({ length: 40 }, (_, i) => file(`${i}/${'f/'.repeat(45)}x`)),
      null,
    ),
  ]
}

type ArchiveChange = { title: string; apply: (tar: Buffer, random: Random) => Buffer }

/** Changes to the complete archive. The first one leaves it intact, and is chosen more often than any other. */
const archiveChanges: ArchiveChange[] = [
  { title: 'intact', apply: (tar) => gzipSync(tar) },
  { title: 'truncated', apply: (tar, random) => gzipSync(tar.subarray(0, Math.floor(tar.length * random()))) },
  {
    title: 'truncated gzip',
    apply: (tar, random) => {
      const bytes = gzipSync(tar)
      return bytes.subarray(0, Math.floor(bytes.length * random()))
    },
  },
  { title: 'compressed twice', apply: (tar) => gzipSync(gzipSync(tar)) },
  { title: 'not compressed', apply: (tar) => tar },
  { title: 'two archives in sequence', apply: (tar) => Buffer.concat([gzipSync(tar), gzipSync(tar)]) },
  { title: 'followed by garbage', apply: (tar) => Buffer.concat([gzipSync(tar), Buffer.alloc(700, 'g')]) },
  { title: 'with a second archive after the end', apply: (tar) => gzipSync(Buffer.concat([tar, tar])) },
  {
    title: 'with random bytes',
    apply: (tar, random) => {
      const bytes = Buffer.from(tar)
      for (let i = 0; i < 20; i++) bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256)
      return gzipSync(bytes)
    },
  },
]

/** The entries of every valid archive of a squid. */
const squid: Entry[] = [folder('./'), file('squid.yaml', 'name: x'), file('package.json', '{}')]

const tarOf = (entries: Entry[]): Buffer => Buffer.concat([...entries.map(encode), Buffer.alloc(2 * BLOCK)])

/** Generates `count` archives, the same for the same seed: first each attack alone, then combinations of attacks and damage. */
export function* hostileArchives(seed: number, count: number): Generator<HostileArchive> {
  const random = randomOf(seed)
  const attackCount = attacks(random, 0).length
  for (let i = 0; i < count; i++) {
    const first = attacks(random, 0)[i < attackCount ? i : Math.floor(random() * attackCount)] as Attack
    const isAlone = i < attackCount || random() < 0.4
    const others = isAlone
      ? []
      : Array.from({ length: Math.ceil(random() * 3) }, (_, n) => {
          return attacks(random, n + 1)[Math.floor(random() * attackCount)] as Attack
        })
    const archiveChange = (
      isAlone ? archiveChanges[0] : archiveChanges[Math.floor(random() * archiveChanges.length)]
    ) as ArchiveChange
    const chosen = [first, ...others]
    const entries = chosen.flatMap((attack) => attack.entries)
    const isAtStart = !isAlone && random() < 0.3
    const tar = tarOf(isAtStart ? [...entries, ...squid] : [...squid, ...entries])
    yield {
      title: `${i}: ${chosen.map((attack) => attack.title).join(' + ')}, ${archiveChange.title}`,
      bytes: archiveChange.apply(tar, random),
      rejectedPath: isAlone ? first.rejectedPath : null,
    }
  }
}
