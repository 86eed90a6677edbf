import { billableLabel, type Receipt, type ReceiptItem } from '@shoal/contract'
import PdfDocument from 'pdfkit'
import type { Logger } from 'pino'
import { invoiceNumber } from '../payments/collect.ts'
import type { InvoiceRow } from '../payments/payment-store.ts'
import { addressOf, drawAddress, faint, line } from './pdf-address.ts'
import { bold, openFaces, regular, unprintedOf, type PdfFont } from './pdf-fonts.ts'
import { drawRow, drawTable, pointsOf, rule, type PdfColumn } from './pdf-table.ts'
import { mergeSquids, netOf } from './receipt.ts'

type Pdf = InstanceType<typeof PdfDocument>

const margin = 56
const right = 539
const half = 310

const numbers: PdfColumn[] = [
  { title: 'Amount', x: 316, width: 76, isDecimal: true },
  { title: 'Rate, $', x: 397, width: 62, isDecimal: true },
  { title: 'Cost, $', x: 464, width: right - 464, isDecimal: true },
]
const mergedRuns: PdfColumn[] = [{ title: 'Item', x: margin, width: 250 }, ...numbers]
const bySquid: PdfColumn[] = [
  { title: 'Squid', x: margin, width: 112 },
  { title: 'Item', x: 172, width: 148 },
  ...numbers,
]
/** Their amounts are in the column of costs. */
const totals: PdfColumn[] = [{ title: '', x: half, width: 140 }, ...numbers]

/** `fontFile`: for characters that the built-in fonts do not have. */
type InvoicePdfOptions = { log: Logger; fontFile: string | undefined }

/** The invoice of a closed month, from the data stored when it was closed: a summary to pay by, and the costs of each squid. */
export async function invoicePdf(invoice: InvoiceRow, { log, fontFile }: InvoicePdfOptions): Promise<Buffer> {
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
  const texts = [...invoice.seller, ...addressOf(invoice.customer)]
  const faces = await openFaces(pdf, texts, fontFile)
  const characters = unprintedOf(texts, faces)
  if (characters.length > 0)
    log.warn({ invoice: number, characters }, 'no font has some characters of an invoice: set SHOAL_INVOICE_FONT')
  drawHead(pdf, invoice, number, faces)
  const items = mergeSquids(receipt).items.map((item) => [billableLabel(item.type), ...cellsOf(item)])
  const sums = totalsOf(receipt)
  const points = pointsOf(pdf, mergedRuns, [...items, ...sums])
  drawTable(pdf, { columns: mergedRuns, rows: items, points })
  drawTotals(pdf, sums, points)
  if (receipt.items.some((item) => item.squid !== null)) {
    pdf.addPage()
    title(pdf, 'Usage by squid', 14)
    pdf.moveDown()
    const rows = [...receipt.items].sort(bySquidName).map(squidRow)
    drawTable(pdf, { columns: bySquid, rows, fontSize: 8.5 })
  }
  drawFooter(pdf, number)
  pdf.end()
  return await done
}

/** Seller, customer and key facts. */
function drawHead(
  pdf: Pdf,
  { receipt, customer, seller, closedAt, paidAt }: InvoiceRow,
  number: string,
  faces: PdfFont[],
): void {
  title(pdf, 'Invoice', 20)
  pdf.moveDown(0.8)
  const top = pdf.y
  const facts = [
    ['Number', number],
    ['Month', `${receipt.month} (UTC)`],
    ['Date', dayOf(closedAt)],
    ['Status', paidAt ? `Paid on ${dayOf(paidAt)}` : 'Open'],
  ] as const
  facts.forEach(([name, value], i) => {
    const y = top + i * line.lineHeight
    pdf.fillColor(faint).text(name, margin, y, { lineBreak: false, baseline: -line.baseline })
    pdf.fillColor('#000000').text(value, margin + 60, y, { lineBreak: false, baseline: -line.baseline })
  })
  pdf.y = top
  const block = { x: half, width: right - half, faces }
  drawAddress(pdf, 'From', seller, block)
  drawAddress(pdf, 'Bill to', addressOf(customer), block)
  pdf.y = Math.max(pdf.y, top + facts.length * line.lineHeight) + 20
}

function totalsOf(receipt: Receipt): string[][] {
  const row = (name: string, amount: string) => [name, '', '', money(amount)]
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
  if (pdf.y + (rows.length + 1) * 17 > pdf.page.height - pdf.page.margins.bottom) pdf.addPage()
  pdf.y += 6
  rule(pdf)
  rows.forEach((row, i) => {
    pdf.font(i === rows.length - 1 ? bold : regular)
    drawRow(pdf, totals, points, row)
  })
}

/** The invoice number and page number on every page. */
function drawFooter(pdf: Pdf, number: string): void {
  const { count } = pdf.bufferedPageRange()
  for (let page = 0; page < count; page++) {
    pdf.switchToPage(page)
    // Text below the margin would start a new page.
    pdf.page.margins.bottom = 0
    pdf
      .font(regular)
      .fontSize(8.5)
      .fillColor(faint)
      .text(`${number}, page ${page + 1} of ${count}`, margin, pdf.page.height - 44, {
        width: right - margin,
        align: 'right',
        lineBreak: false,
      })
  }
}

function title(pdf: Pdf, text: string, size: number): void {
  pdf.font(bold).fontSize(size).fillColor('#000000').text(text, margin)
  pdf.font(regular).fontSize(9.5)
}

const cellsOf = ({ amount, rate, subtotal }: ReceiptItem) => [grouped(amount), rate, money(subtotal)]
const squidRow = (item: ReceiptItem) => [item.squid?.name ?? 'No squid', billableLabel(item.type), ...cellsOf(item)]
const inNumericOrder = new Intl.Collator('en', { numeric: true })
const bySquidName = (a: ReceiptItem, b: ReceiptItem) =>
  inNumericOrder.compare(a.squid?.name ?? '', b.squid?.name ?? '') || Number(b.subtotal) - Number(a.subtotal)

/** `194341.18` as `194,341.18`. */
const grouped = (decimal: string) => decimal.replace(/^-?\d+/, (whole) => whole.replaceAll(/\B(?=(\d{3})+$)/g, ','))
/** With at least two fraction digits. */
const money = (decimal: string) => grouped(decimal.replace(/^(-?\d+)$/, '$1.00').replace(/\.(\d)$/, '.$10'))
const dayOf = (at: Date) => at.toISOString().slice(0, 10)
