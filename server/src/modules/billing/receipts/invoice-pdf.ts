import { billableLabel, type Receipt, type ReceiptItem } from '@shoal/contract'
import PdfDocument from 'pdfkit'
import { invoiceNumber } from '../payments/collect.ts'
import type { InvoiceRow } from '../payments/payment-store.ts'
import { drawRow, drawTable, pointsOf, printable, rule, type PdfColumn } from './pdf-table.ts'
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
const merged: PdfColumn[] = [{ title: 'Item', x: margin, width: 250 }, ...numbers]
const bySquid: PdfColumn[] = [
  { title: 'Squid', x: margin, width: 112 },
  { title: 'Item', x: 172, width: 148 },
  ...numbers,
]
/** Their amounts stand in the column of costs. */
const totals: PdfColumn[] = [{ title: '', x: half, width: 140 }, ...numbers]

/** The invoice of a closed month, made of what was stored when it was closed: a page to pay by, and what each squid cost. */
export async function invoicePdf(invoice: InvoiceRow): Promise<Buffer> {
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
  drawHead(pdf, invoice, number)
  const items = mergeSquids(receipt).items.map((item) => [billableLabel(item.type), ...cellsOf(item)])
  const sums = totalsOf(receipt)
  const points = pointsOf(pdf, merged, [...items, ...sums])
  drawTable(pdf, { columns: merged, rows: items, points })
  drawTotals(pdf, sums, points)
  if (receipt.items.some((item) => item.squid !== null)) {
    pdf.addPage()
    title(pdf, 'Usage by squid', 14)
    pdf.moveDown()
    const rows = [...receipt.items].sort(bySquidName).map(squidRow)
    drawTable(pdf, { columns: bySquid, rows, fontSize: 8.5 })
  }
  drawFeet(pdf, number)
  pdf.end()
  return await done
}

/** Who bills whom for what. */
function drawHead(pdf: Pdf, { receipt, customer, seller, closedAt, paidAt }: InvoiceRow, number: string): void {
  title(pdf, 'Invoice', 20)
  pdf.moveDown(0.8)
  const top = pdf.y
  const facts = [
    ['Number', number],
    ['Month', `${receipt.month} (UTC)`],
    ['Date', dayOf(closedAt)],
    ['Status', paidAt ? `Paid on ${dayOf(paidAt)}` : 'Open'],
  ] as const
  for (const [name, value] of facts) {
    const { y } = pdf
    pdf.fillColor('#5b6673').text(name, margin, y, { lineBreak: false })
    pdf.fillColor('#000000').text(value, margin + 60, y)
  }
  const left = pdf.y
  pdf.y = top
  drawAddress(pdf, 'From', seller)
  drawAddress(pdf, 'Bill to', addressOf(customer))
  pdf.y = Math.max(pdf.y, left) + 20
}

function drawAddress(pdf: Pdf, whose: string, lines: readonly string[]): void {
  if (lines.length === 0) return
  pdf.fillColor('#5b6673').text(whose, half, pdf.y).fillColor('#000000')
  for (const line of lines) pdf.text(printable(line), half, pdf.y, { width: right - half })
  pdf.y += 8
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
  // All of it on one page.
  if (pdf.y + (rows.length + 1) * 17 > pdf.page.height - pdf.page.margins.bottom) pdf.addPage()
  pdf.y += 6
  rule(pdf)
  rows.forEach((row, i) => {
    pdf.font(i === rows.length - 1 ? 'Helvetica-Bold' : 'Helvetica')
    drawRow(pdf, totals, points, row)
  })
}

/** The number and the page, at the foot of each. */
function drawFeet(pdf: Pdf, number: string): void {
  const { count } = pdf.bufferedPageRange()
  for (let page = 0; page < count; page++) {
    pdf.switchToPage(page)
    // What stands below the margin would begin a page of its own.
    pdf.page.margins.bottom = 0
    pdf
      .font('Helvetica')
      .fontSize(8.5)
      .fillColor('#5b6673')
      .text(`${number}, page ${page + 1} of ${count}`, margin, pdf.page.height - 44, {
        width: right - margin,
        align: 'right',
        lineBreak: false,
      })
  }
}

function title(pdf: Pdf, text: string, size: number): void {
  pdf.font('Helvetica-Bold').fontSize(size).fillColor('#000000').text(text, margin)
  pdf.font('Helvetica').fontSize(9.5)
}

const cellsOf = ({ amount, rate, subtotal }: ReceiptItem) => [grouped(amount), rate, money(subtotal)]
const squidRow = (item: ReceiptItem) => [item.squid?.name ?? 'No squid', billableLabel(item.type), ...cellsOf(item)]
const inNumericOrder = new Intl.Collator('en', { numeric: true })
const bySquidName = (a: ReceiptItem, b: ReceiptItem) =>
  inNumericOrder.compare(a.squid?.name ?? '', b.squid?.name ?? '') || Number(b.subtotal) - Number(a.subtotal)

/** `194341.18` as `194,341.18`. */
const grouped = (decimal: string) => decimal.replace(/^-?\d+/, (whole) => whole.replaceAll(/\B(?=(\d{3})+$)/g, ','))
/** With two fraction digits at least. */
const money = (decimal: string) => grouped(decimal.replace(/^(-?\d+)$/, '$1.00').replace(/\.(\d)$/, '.$10'))
const dayOf = (at: Date) => at.toISOString().slice(0, 10)

function addressOf({ name, code, details }: InvoiceRow['customer']): string[] {
  if (!details) return [name, `Organization ${code}`]
  const { addressLine1, postalCode, city, country, vatId } = details
  return [
    details.name,
    addressLine1,
    `${postalCode} ${city}`,
    countryName(country),
    ...(vatId ? [`VAT ID ${vatId}`] : []),
  ]
}

const countryName = (code: string) => new Intl.DisplayNames('en', { type: 'region' }).of(code) ?? code
