import type PDFKit from 'pdfkit'
import { faint } from './pdf-address.ts'
import { bold, regular } from './pdf-fonts.ts'

export type PdfColumn = {
  title: string
  x: number
  width: number
  /** Decimals stand with their points below each other. */
  isDecimal?: boolean
}

type Pdf = InstanceType<typeof PDFKit>

const rowHeight = 17
/** From the top of a row. Negative, as pdfkit counts upwards. */
const baseline = -7
const hairline = '#d5dae0'

type Table = {
  columns: readonly PdfColumn[]
  rows: readonly (readonly string[])[]
  fontSize?: number
  /** Where the points of decimals stand; those that fit the rows when left out. */
  points?: readonly number[]
}

/** Rows below each other, on as many pages as they need; every page begins with the head. Writes on from where the page is. */
export function drawTable(pdf: Pdf, { columns, rows, fontSize = 9.5, points }: Table): void {
  const head = () => {
    pdf.font(bold).fontSize(8.5).fillColor(faint)
    const { y } = pdf
    for (const { title, x, width, isDecimal } of columns)
      pdf.text(title, x, y, { width, align: isDecimal ? 'right' : 'left', lineBreak: false, baseline })
    pdf.font(regular).fontSize(fontSize).fillColor('#000000')
    pdf.y = y + rowHeight
    rule(pdf)
  }
  pdf.font(regular).fontSize(fontSize)
  const pointsX = points ?? pointsOf(pdf, columns, rows)
  head()
  for (const row of rows) {
    if (pdf.y + rowHeight > pdf.page.height - pdf.page.margins.bottom) {
      pdf.addPage()
      head()
    }
    drawRow(pdf, columns, pointsX, row)
  }
}

/** One row without a table around it, in the font that is set. */
export function drawRow(
  pdf: Pdf,
  columns: readonly PdfColumn[],
  points: readonly number[],
  row: readonly string[],
): void {
  const { y } = pdf
  columns.forEach((column, i) => {
    const text = row[i] ?? ''
    if (column.isDecimal) drawDecimal(pdf, text, points[i] ?? column.x + column.width, y)
    else pdf.text(text, column.x, y, { width: column.width, height: rowHeight - 3, ellipsis: true, baseline })
  })
  pdf.y = y + rowHeight
}

/** A hairline across the page, between what was written and what comes. */
export function rule(pdf: Pdf): void {
  const { left, right } = pdf.page.margins
  pdf
    .moveTo(left, pdf.y - 4)
    .lineTo(pdf.page.width - right, pdf.y - 4)
    .lineWidth(0.5)
    .strokeColor(hairline)
    .stroke()
  pdf.y += 4
}

/** Its point is at `pointX`: whole digits end there, the fraction begins there. */
function drawDecimal(pdf: Pdf, text: string, pointX: number, y: number): void {
  const [whole = '', fraction] = text.split('.')
  pdf.text(whole, pointX - pdf.widthOfString(whole), y, { lineBreak: false, baseline })
  if (fraction !== undefined) pdf.text(`.${fraction}`, pointX, y, { lineBreak: false, baseline })
}

/** Where the points of each column stand, so that its longest fraction ends at the column's right edge. */
export function pointsOf(
  pdf: Pdf,
  columns: readonly PdfColumn[],
  rows: readonly (readonly string[])[],
): readonly number[] {
  return columns.map(({ x, width }, i) => {
    const fractions = rows.map((row) => /\.\d+$/.exec(row[i] ?? '')?.[0] ?? '')
    return x + width - Math.max(0, ...fractions.map((text) => pdf.widthOfString(text)))
  })
}
