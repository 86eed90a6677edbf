import type PDFKit from 'pdfkit'
import { mutedColor } from './pdf-address.ts'
import { bold, regular } from './pdf-fonts.ts'

/** A column of a table. Positions and widths are in points. */
export type PdfColumn = {
  title: string
  x: number
  width: number
  /** Aligns numbers at their decimal points. */
  isDecimal?: boolean
}

type Pdf = InstanceType<typeof PDFKit>

/** Height of a row in points. */
export const rowHeight = 17
/** Distance of the baseline from the top of a row in points; negative, because pdfkit counts upwards. */
const baseline = -7
const hairline = '#d5dae0'

type Table = {
  columns: readonly PdfColumn[]
  rows: readonly (readonly string[])[]
  fontSize?: number
  /** x of the decimal point in each column; computed from the rows by default. */
  points?: readonly number[]
}

/** Draws rows on as many pages as needed, with a header on each. Starts at the current position. */
export function drawTable(pdf: Pdf, { columns, rows, fontSize = 9.5, points }: Table): void {
  const drawHeader = () => {
    pdf.font(bold).fontSize(8.5).fillColor(mutedColor)
    const { y } = pdf
    for (const { title, x, width, isDecimal } of columns)
      pdf.text(title, x, y, { width, align: isDecimal ? 'right' : 'left', lineBreak: false, baseline })
    pdf.font(regular).fontSize(fontSize).fillColor('#000000')
    pdf.y = y + rowHeight
    drawRule(pdf)
  }
  pdf.font(regular).fontSize(fontSize)
  const pointsX = points ?? decimalPointsOf(pdf, columns, rows)
  drawHeader()
  for (const row of rows) {
    if (pdf.y + rowHeight > pdf.page.height - pdf.page.margins.bottom) {
      pdf.addPage()
      drawHeader()
    }
    drawRow(pdf, columns, pointsX, row)
  }
}

/** Draws one row in the current font, without a header. */
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

/** Draws a hairline across the page at the current position. */
export function drawRule(pdf: Pdf): void {
  const { left, right } = pdf.page.margins
  pdf
    .moveTo(left, pdf.y - 4)
    .lineTo(pdf.page.width - right, pdf.y - 4)
    .lineWidth(0.5)
    .strokeColor(hairline)
    .stroke()
  pdf.y += 4
}

/** Draws a number with its decimal point at `pointX`. */
function drawDecimal(pdf: Pdf, text: string, pointX: number, y: number): void {
  const [whole = '', fraction] = text.split('.')
  pdf.text(whole, pointX - pdf.widthOfString(whole), y, { lineBreak: false, baseline })
  if (fraction !== undefined) pdf.text(`.${fraction}`, pointX, y, { lineBreak: false, baseline })
}

/** Returns the x of the decimal point in each column, such that the longest fraction ends at the column's right edge. */
export function decimalPointsOf(
  pdf: Pdf,
  columns: readonly PdfColumn[],
  rows: readonly (readonly string[])[],
): readonly number[] {
  return columns.map(({ x, width }, i) => {
    const fractions = rows.map((row) => /\.\d+$/.exec(row[i] ?? '')?.[0] ?? '')
    return x + width - Math.max(0, ...fractions.map((text) => pdf.widthOfString(text)))
  })
}
