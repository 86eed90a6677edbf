import { inflateSync } from 'node:zlib'

/** Returns the text that users of the PDF can search and copy, by page, in drawing order. */
export function pagesOf(pdf: Buffer): string[][] {
  const objects = new Map(
    [...pdf.toString('latin1').matchAll(/^(\d+) 0 obj\n([\s\S]*?)\nendobj/gm)].map(([, id = '', body = '']) => [
      id,
      body,
    ]),
  )
  /** Returns the object that `key` of `body` refers to. */
  const referencedObject = (body: string, key: string) =>
    objects.get(new RegExp(`/${key} (\\d+) 0 R`).exec(body)?.[1] ?? '') ?? ''
  return [...objects.values()]
    .filter((body) => body.includes('/Type /Page\n'))
    .map((page) => {
      const resources = referencedObject(page, 'Resources')
      const charactersOf = (font: string) =>
        charactersByGlyph(streamOf(referencedObject(referencedObject(resources, font), 'ToUnicode')))
      return textsOf(streamOf(referencedObject(page, 'Contents')), charactersOf)
    })
}

const streamOf = (body: string) =>
  inflateSync(Buffer.from(body.slice(body.indexOf('stream\n') + 7), 'latin1')).toString('latin1')

/** Returns the characters of each glyph, by the glyph's four hex digits. pdfkit lists glyphs in ranges. */
function charactersByGlyph(toUnicode: string): Map<string, string> {
  const characters = new Map<string, string>()
  for (const [, from = '', list = ''] of toUnicode.matchAll(/<(\w+)> <\w+> \[([^\]]*)\]/g))
    [...list.matchAll(/<([^>]*)>/g)].forEach(([, hex = ''], i) => {
      const glyph = (Number.parseInt(from, 16) + i).toString(16).padStart(4, '0')
      characters.set(glyph, Buffer.from(hex.replaceAll(' ', ''), 'hex').swap16().toString('utf16le'))
    })
  return characters
}

/** Returns the texts of a content stream. A span's ActualText replaces all text drawn in it. */
function textsOf(content: string, charactersOf: (font: string) => Map<string, string>): string[] {
  const spansAndBlocks = /\/ActualText \(((?:\\[\s\S]|[^\\)])*)\)[\s\S]*?EMC|\nBT\n[\s\S]*?\/(F\d+) [\s\S]*?\nET\n/g
  return [...content.matchAll(spansAndBlocks)].map(([block, actual, font = '']) => {
    if (actual !== undefined) return utf16Of(actual)
    const characters = charactersOf(font)
    const glyphs = [...block.matchAll(/<([0-9a-f]*)>/g)].flatMap(([, hex = '']) => hex.match(/.{4}/g) ?? [])
    return glyphs.map((glyph) => characters.get(glyph) ?? '?').join('')
  })
}

const utf16Of = (escaped: string) =>
  Buffer.from(
    escaped.slice(2).replaceAll(/\\([\s\S])/g, (_, letter: string) => escapeSequences[letter] ?? letter),
    'latin1',
  )
    .swap16()
    .toString('utf16le')

const escapeSequences: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }
