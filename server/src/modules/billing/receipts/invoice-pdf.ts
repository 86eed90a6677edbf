import { billableLabel, type Receipt, type ReceiptItem } from '@shoal/contract'
import PdfDocument from 'pdfkit'
import type { Logger } from 'pino'
import { dayOf } from '../../../clock.ts'
import { invoiceNumber } from '../payments/collect.ts'
import type { StoredInvoice } from '../payments/payment-store.ts'
import { printedAddressOf, drawAddress, mutedColor, lineMetrics } from './pdf-address.ts'
import { bold, openFonts, regular, unprintedOf, type PdfFont } from './pdf-fonts.ts'
import { drawRow, drawTable, decimalPointsOf, drawRule, rowHeight, type PdfColumn } from './pdf-table.ts'
import { mergeSquids, netOf } from './receipt.ts'

type Pdf = InstanceType<typeof PdfDocument>

// Positions on an A4 page, in points.
const margin = 56
const rightEdge = 539
const middle = 310

const numberColumns: PdfColumn[] = [
  { title: 'Amount', x: 316, width: 76, isDecimal: true },
  { title: 'Rate, $', x: 397, width: 62, isDecimal: true },
  { title: 'Cost, $', x: 464, width: rightEdge - 464, isDecimal: true },
]
const summaryColumns: PdfColumn[] = [{ title: 'Item', x: margin, width: 250 }, ...numberColumns]
const squidColumns: PdfColumn[] = [
  { title: 'Squid', x: margin, width: 112 },
  { title: 'Item', x: 172, width: 148 },
  ...numberColumns,
]
/** The columns of the totals, which are printed in the column of costs. */
const totalColumns: PdfColumn[] = [{ title: '', x: middle, width: 140 }, ...numberColumns]

/** `fontFile`: a font for characters that the built-in fonts do not have. */
type InvoicePdfOptions = { log: Logger; fontFile: string | undefined }

/** Renders the invoice of a closed month from the data stored when it was closed: a summary, and the costs of each squid. */
export async function invoicePdf(invoice: StoredInvoice, { log, fontFile }: InvoicePdfOptions): Promise<Buffer> {
  const { receipt, closedAt } = invoice
  const number = invoiceNumber(invoice.number)
  const pdf = new PdfDocument({
    size: 'A4',
    margins: { top: margin, left: margin, right: margin, bottom: 64 },
    bufferPages: true,
    info: { Title: `Invoice ${number}`, CreationDate: closedAt, ModDate: closedAt },
  })
  const chunks: Buffer[] = []
  const done = new Promise<Buffer>((resolve, reject) => {
    pdf.on('data', (chunk: Buffer) => chunks.push(chunk))
    pdf.on('end', () => resolve(Buffer.concat(chunks)))
    pdf.on('error', reject)
  })
  const texts = [...invoice.seller, ...printedAddressOf(invoice.customer)]
  const fonts = await openFonts(pdf, texts, fontFile)
  const characters = unprintedOf(texts, fonts)
  if (characters.length > 0)
    log.warn({ invoice: number, characters }, 'no font has some characters of an invoice: set SHOAL_INVOICE_FONT')
  drawHeader(pdf, invoice, number, fonts)
  const items = mergeSquids(receipt).items.map((item) => [billableLabel(item.type), ...cellsOf(item)])
  const totals = totalsOf(receipt)
  const points = decimalPointsOf(pdf, summaryColumns, [...items, ...totals])
  drawTable(pdf, { columns: summaryColumns, rows: items, points })
  drawTotals(pdf, totals, points)
  if (receipt.items.some((item) => item.squid !== null)) {
    pdf.addPage()
    drawTitle(pdf, 'Usage by squid', 14)
    pdf.moveDown()
    const rows = [...receipt.items].sort(bySquidName).map(squidRow)
    drawTable(pdf, { columns: squidColumns, rows, fontSize: 8.5 })
  }
  drawFooter(pdf, number)
  pdf.end()
  return await done
}

/** Draws the invoice's number, month, date and status, the seller and the customer. */
function drawHeader(
  pdf: Pdf,
  { receipt, customer, seller, closedAt, paidAt }: StoredInvoice,
  number: string,
  fonts: PdfFont[],
): void {
  drawTitle(pdf, 'Invoice', 20)
  pdf.moveDown(0.8)
  const top = pdf.y
  const headerLines = [
    ['Number', number],
    ['Month', `${receipt.month} (UTC)`],
    ['Date', dayOf(closedAt.getTime())],
    ['Status', paidAt ? `Paid on ${dayOf(paidAt.getTime())}` : 'Open'],
  ] as const
  headerLines.forEach(([name, value], i) => {
    const y = top + i * lineMetrics.lineHeight
    pdf.fillColor(mutedColor).text(name, margin, y, { lineBreak: false, baseline: -lineMetrics.baseline })
    pdf.fillColor('#000000').text(value, margin + 60, y, { lineBreak: false, baseline: -lineMetrics.baseline })
  })
  pdf.y = top
  const block = { x: middle, width: rightEdge - middle, fonts }
  drawAddress(pdf, 'From', seller, block)
  drawAddress(pdf, 'Bill to', printedAddressOf(customer), block)
  pdf.y = Math.max(pdf.y, top + headerLines.length * lineMetrics.lineHeight) + 20
}

function totalsOf(receipt: Receipt): string[][] {
  const row = (name: string, amount: string) => [name, '', '', formatMoney(amount)]
  return [
    row('Subtotal', receipt.subTotal),
    ...receipt.discounts.map(({ type, percent, amount }) =>
      row(type === 'rpc_included' ? 'Included RPC requests' : `Discount ${percent} %`, `-${amount}`),
    ),
    row('Net', netOf(receipt).toFixed(2)),
    row(`VAT ${receipt.tax.percent} %`, receipt.tax.amount),
    row('Total, USD', receipt.total),
  ]
}

function drawTotals(pdf: Pdf, rows: readonly string[][], points: readonly number[]): void {
  // Keeps the totals on one page.
  if (pdf.y + (rows.length + 1) * rowHeight > pdf.page.height - pdf.page.margins.bottom) pdf.addPage()
  pdf.y += 6
  drawRule(pdf)
  rows.forEach((row, i) => {
    pdf.font(i === rows.length - 1 ? bold : regular)
    drawRow(pdf, totalColumns, points, row)
  })
}

/** Draws the invoice number and page number on every page. */
function drawFooter(pdf: Pdf, number: string): void {
  const { count } = pdf.bufferedPageRange()
  for (let page = 0; page < count; page++) {
    pdf.switchToPage(page)
    // Without this, text below the margin would start a new page.
    pdf.page.margins.bottom = 0
    pdf
      .font(regular)
      .fontSize(8.5)
      .fillColor(mutedColor)
      .text(`${number}, page ${page + 1} of ${count}`, margin, pdf.page.height - 44, {
        width: rightEdge - margin,
        align: 'right',
        lineBreak: false,
      })
  }
}

function drawTitle(pdf: Pdf, text: string, size: number): void {
  pdf.font(bold).fontSize(size).fillColor('#000000').text(text, margin)
  pdf.font(regular).fontSize(9.5)
}

const cellsOf = ({ amount, rate, subtotal }: ReceiptItem) => [groupDigits(amount), rate, formatMoney(subtotal)]
const squidRow = (item: ReceiptItem) => [item.squid?.name ?? 'No squid', billableLabel(item.type), ...cellsOf(item)]
const numericCollator = new Intl.Collator('en', { numeric: true })
const bySquidName = (a: ReceiptItem, b: ReceiptItem) =>
  numericCollator.compare(a.squid?.name ?? '', b.squid?.name ?? '') || Number(b.subtotal) - Number(a.subtotal)

/** Formats `194341.18` as `194,341.18`. */
const groupDigits = (decimal: string) => decimal.replace(/^-?\d+/, (whole) => whole.replaceAll(/\B(?=(\d{3})+$)/g, ','))
/** Formats an amount with at least two fraction digits. */
const formatMoney = (decimal: string) => groupDigits(decimal.replace(/^(-?\d+)$/, '$1.00').replace(/\.(\d)$/, '.$10'))
