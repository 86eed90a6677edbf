import { create } from 'fontkit'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type PDFKit from 'pdfkit'

type Pdf = InstanceType<typeof PDFKit>

/** What the PDF knows the fonts by that ship. They have Latin, Greek, Cyrillic and Devanagari; their digits are equally wide. */
export const regular = 'regular'
export const bold = 'bold'

const regularFile = import.meta.resolve('@expo-google-fonts/noto-sans/400Regular/NotoSans_400Regular.ttf')
const boldFile = import.meta.resolve('@expo-google-fonts/noto-sans/600SemiBold/NotoSans_600SemiBold.ttf')

/** A font by the name that the PDF knows it by, and whether it has a letter. */
export type PdfFont = { name: string; hasLetter: (codePoint: number) => boolean }

/** Letters that one font prints. `unprinted`: those that no font has, of which `text` holds a mark each. */
export type TextRun = { text: string; face: string; unprinted: string | null }

/** Stands for a letter that no font has. */
export const unprintedMark = '\uFFFD'

/**
 * The fonts that ship, and the operator's when `texts` need it, as it may be large. Opened anew for every PDF: nothing of them stays in
 * memory, and what a font remembers of one PDF cannot change the bytes of the next.
 */
export async function openFaces(pdf: Pdf, texts: readonly string[], operatorsFile?: string): Promise<PdfFont[]> {
  const faces = [await openFace(pdf, regular, fileURLToPath(regularFile))]
  await openFace(pdf, bold, fileURLToPath(boldFile))
  if (operatorsFile !== undefined && unprintedOf(texts, faces).length > 0)
    faces.push(await openFace(pdf, 'operators', operatorsFile))
  return faces
}

async function openFace(pdf: Pdf, name: string, file: string): Promise<PdfFont> {
  const bytes = await readFile(file)
  const opened = create(bytes)
  // A collection has the same letters in the forms of several countries.
  const font = 'fonts' in opened ? opened.fonts[0] : opened
  if (!font) throw new Error(`There is no font in ${file}`)
  pdf.registerFont(name, bytes, font === opened ? undefined : font.postscriptName)
  return { name, hasLetter: (codePoint) => font.hasGlyphForCodePoint(codePoint) }
}

/** `text` in the fonts that have its letters, the first one wherever it can. */
export function runsOf(text: string, faces: readonly PdfFont[]): TextRun[] {
  const runs: TextRun[] = []
  for (const { segment } of graphemes.segment(onOneLine(text))) {
    const last = runs.at(-1)
    const face = faces.find((candidate) => canPrint(candidate, segment))?.name
    const run: TextRun = face
      ? { text: segment, face, unprinted: null }
      : { text: unprintedMark, face: regular, unprinted: segment }
    if (!last || (segment !== ' ' && !isAlike(last, run))) runs.push(run)
    else {
      last.text += run.text
      if (last.unprinted !== null) last.unprinted += segment
    }
  }
  return runs
}

const isAlike = (a: TextRun, b: TextRun) => a.face === b.face && (a.unprinted === null) === (b.unprinted === null)

/** Letters of `texts` that no font has, each once. */
export function unprintedOf(texts: readonly string[], faces: readonly PdfFont[]): string[] {
  const runs = texts.flatMap((text) => runsOf(text, faces))
  return [...new Set(runs.flatMap(({ unprinted }) => unprinted?.match(/\S/gu) ?? []))]
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Letters with their accents as one, where Unicode has them as one: so do fonts. */
const onOneLine = (text: string) =>
  text
    .normalize('NFC')
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .replaceAll(/\p{Bidi_Control}/gu, '')

const canPrint = ({ hasLetter }: PdfFont, segment: string) =>
  !rightToLeft.test(segment) &&
  Array.from(segment).every((letter) => invisible.test(letter) || hasLetter(letter.codePointAt(0) ?? 0))

const invisible = /\p{Default_Ignorable_Code_Point}/u
/** Hebrew, Arabic and their like. The layout knows one direction: it would print the words of a name in the wrong order. */
const rightToLeft = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u

type TextBox = { x: number; width: number; lineHeight: number; baseline: number }

/** Writes on from the page's y, on as many lines as it takes, all as high and on one baseline whatever their fonts. */
export function drawRuns(pdf: Pdf, runs: readonly TextRun[], { x, width, lineHeight, baseline }: TextBox): void {
  runs.forEach(({ text, face, unprinted }, i) => {
    const lineGap = lineHeight - pdf.font(face).currentLineHeight(true)
    // What is not printed can be searched for and copied all the same.
    if (unprinted !== null) pdf.markContent('Span', { actual: unprinted })
    const options = { width, lineGap, baseline: -baseline, continued: i < runs.length - 1 }
    if (i === 0) pdf.text(text, x, pdf.y, options)
    else pdf.text(text, options)
    if (unprinted !== null) pdf.endMarkedContent()
  })
  pdf.font(regular)
}
