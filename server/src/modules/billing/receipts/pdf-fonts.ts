import { create } from 'fontkit'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type PDFKit from 'pdfkit'

type Pdf = InstanceType<typeof PDFKit>

/** Names of the built-in fonts in the PDF. They contain Latin, Greek, Cyrillic and Devanagari, with digits of equal width. */
export const regular = 'regular'
export const bold = 'bold'

const regularFile = import.meta.resolve('@expo-google-fonts/noto-sans/400Regular/NotoSans_400Regular.ttf')
const boldFile = import.meta.resolve('@expo-google-fonts/noto-sans/600SemiBold/NotoSans_600SemiBold.ttf')

/** A font, by its name in the PDF. */
export type PdfFont = { name: string; hasCharacter: (codePoint: number) => boolean }

/**
 * Text in one font. `unprinted`: characters that no font has, each of which `text` replaces by a mark; null if there are none.
 */
export type TextRun = { text: string; font: string; unprinted: string | null }

/** Replaces a character that no font has. */
export const replacementCharacter = '\uFFFD'

/**
 * Opens the built-in fonts, and the operator's font only if `texts` need it, since it may be large. Each PDF opens its fonts
 * again, so that their memory is freed and the bytes of a PDF do not depend on the PDF before it.
 */
export async function openFonts(pdf: Pdf, texts: readonly string[], operatorFile?: string): Promise<PdfFont[]> {
  const fonts = [await openFont(pdf, regular, fileURLToPath(regularFile))]
  await openFont(pdf, bold, fileURLToPath(boldFile))
  if (operatorFile !== undefined && unprintedOf(texts, fonts).length > 0)
    fonts.push(await openFont(pdf, 'operators', operatorFile))
  return fonts
}

async function openFont(pdf: Pdf, name: string, file: string): Promise<PdfFont> {
  const bytes = await readFile(file)
  const opened = create(bytes)
  // The fonts of a collection are regional variants with the same characters, so the first one is enough.
  const font = 'fonts' in opened ? opened.fonts[0] : opened
  if (!font) throw new Error(`${file} contains no font`)
  pdf.registerFont(name, bytes, font === opened ? undefined : font.postscriptName)
  return { name, hasCharacter: (codePoint) => font.hasGlyphForCodePoint(codePoint) }
}

/** Splits `text` into runs by font; each character uses the first font that has it. */
export function runsOf(text: string, fonts: readonly PdfFont[]): TextRun[] {
  const runs: TextRun[] = []
  for (const { segment } of graphemes.segment(normalize(text))) {
    const lastRun = runs.at(-1)
    const font = fonts.find((candidate) => canPrint(candidate, segment))?.name
    const run: TextRun = font
      ? { text: segment, font, unprinted: null }
      : { text: replacementCharacter, font: regular, unprinted: segment }
    if (!lastRun || (segment !== ' ' && !isMergeable(lastRun, run))) runs.push(run)
    else {
      lastRun.text += run.text
      if (lastRun.unprinted !== null) lastRun.unprinted += segment
    }
  }
  return runs
}

const isMergeable = (a: TextRun, b: TextRun) => a.font === b.font && (a.unprinted === null) === (b.unprinted === null)

/** Returns the distinct characters of `texts` that no font has. */
export function unprintedOf(texts: readonly string[], fonts: readonly PdfFont[]): string[] {
  const runs = texts.flatMap((text) => runsOf(text, fonts))
  return [...new Set(runs.flatMap(({ unprinted }) => unprinted?.match(/\S/gu) ?? []))]
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Composes accents (NFC), as fonts require, replaces line breaks by spaces, and removes direction controls. */
const normalize = (text: string) =>
  text
    .normalize('NFC')
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .replaceAll(/\p{Bidi_Control}/gu, '')

const canPrint = ({ hasCharacter }: PdfFont, segment: string) =>
  !rightToLeft.test(segment) &&
  Array.from(segment).every((character) => invisible.test(character) || hasCharacter(character.codePointAt(0) ?? 0))

const invisible = /\p{Default_Ignorable_Code_Point}/u
/** Hebrew, Arabic and similar scripts. The layout is left-to-right only and would print their words in the wrong order. */
const rightToLeft = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u

type TextBox = { x: number; width: number; lineHeight: number; baseline: number }

/** Draws runs at the page's y, wrapped, with the same line height and baseline for all fonts. */
export function drawRuns(pdf: Pdf, runs: readonly TextRun[], { x, width, lineHeight, baseline }: TextBox): void {
  runs.forEach(({ text, font, unprinted }, i) => {
    const lineGap = lineHeight - pdf.font(font).currentLineHeight(true)
    // Makes unprinted characters searchable and copyable.
    if (unprinted !== null) pdf.markContent('Span', { actual: unprinted })
    const options = { width, lineGap, baseline: -baseline, continued: i < runs.length - 1 }
    if (i === 0) pdf.text(text, x, pdf.y, options)
    else pdf.text(text, options)
    if (unprinted !== null) pdf.endMarkedContent()
  })
  pdf.font(regular)
}
