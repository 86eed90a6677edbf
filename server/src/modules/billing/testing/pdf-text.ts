import { inflateSync } from 'node:zlib'

/** The text that a reader of the PDF can search and copy, by page, in the order it was written. */
export function pagesOf(pdf: Buffer): string[][] {
  const objects = new Map(
    [...pdf.toString('latin1').matchAll(/^(\d+) 0 obj\n([\s\S]*?)\nendobj/gm)].map(([, id = '', body = '']) => [
      id,
      body,
    ]),
  )
  /** The object that `key` of another one refers to. */
  const follow = (body: string, key: string) =>
    objects.get(new RegExp(`/${key} (\\d+) 0 R`).exec(body)?.[1] ?? '') ?? ''
  return [...objects.values()]
    .filter((body) => body.includes('/Type /Page\n'))
    .map((page) => {
      const resources = follow(page, 'Resources')
      const lettersOf = (font: string) => lettersByGlyph(streamOf(follow(follow(resources, font), 'ToUnicode')))
      return textsOf(streamOf(follow(page, 'Contents')), lettersOf)
    })
}

const streamOf = (body: string) =>
  inflateSync(Buffer.from(body.slice(body.indexOf('stream\n') + 7), 'latin1')).toString('latin1')

/** By the glyph's four hex digits. The ranges of pdfkit have the characters of each glyph. */
function lettersByGlyph(toUnicode: string): Map<string, string> {
  const letters = new Map<string, string>()
  for (const [, from = '', list = ''] of toUnicode.matchAll(/<(\w+)> <\w+> \[([^\]]*)\]/g))
    [...list.matchAll(/<([^>]*)>/g)].forEach(([, hex = ''], i) => {
      const glyph = (Number.parseInt(from, 16) + i).toString(16).padStart(4, '0')
      letters.set(glyph, Buffer.from(hex.replaceAll(' ', ''), 'hex').swap16().toString('utf16le'))
    })
  return letters
}

/** A span's ActualText replaces all text drawn in it. */
function textsOf(content: string, lettersOf: (font: string) => Map<string, string>): string[] {
  const spansAndBlocks = /\/ActualText \(((?:\\[\s\S]|[^\\)])*)\)[\s\S]*?EMC|\nBT\n[\s\S]*?\/(F\d+) [\s\S]*?\nET\n/g
  return [...content.matchAll(spansAndBlocks)].map(([block, actual, font = '']) => {
    if (actual !== undefined) return utf16Of(actual)
    const letters = lettersOf(font)
    const glyphs = [...block.matchAll(/<([0-9a-f]*)>/g)].flatMap(([, hex = '']) => hex.match(/.{4}/g) ?? [])
    return glyphs.map((glyph) => letters.get(glyph) ?? '?').join('')
  })
}

const utf16Of = (escaped: string) =>
  Buffer.from(
    escaped.slice(2).replaceAll(/\\([\s\S])/g, (_, letter: string) => escapes[letter] ?? letter),
    'latin1',
  )
    .swap16()
    .toString('utf16le')

const escapes: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }
