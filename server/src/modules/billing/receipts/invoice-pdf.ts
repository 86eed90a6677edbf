import { billableLabel } from '@shoal/contract'
import PdfDocument from 'pdfkit'
import { invoiceNumber } from '../payments/collect.ts'
import type { InvoiceRow } from '../payments/payment-store.ts'
import { mergeSquids } from './receipt.ts'

const left = 56
const right = 539
const columns = [
  { title: 'Item', x: left, width: 220, align: 'left' },
  { title: 'Amount', x: 280, width: 90, align: 'right' },
  { title: 'Rate, $', x: 375, width: 80, align: 'right' },
  { title: 'Cost, $', x: 460, width: right - 460, align: 'right' },
] as const

/** The invoice of a closed month, made of what was stored when it was closed. */
export async function invoicePdf(invoice: InvoiceRow): Promise<Buffer> {
  const { receipt, customer, closedAt, month } = invoice
  const number = invoiceNumber(invoice.number)
  const pdf = new PdfDocument({
    size: 'A4',
    margin: left,
    info: { Title: `Invoice ${number}`, CreationDate: closedAt, ModDate: closedAt },
  })
  const chunks: Buffer[] = []
  const done = new Promise<Buffer>((resolve, reject) => {
    pdf.on('data', (chunk: Buffer) => chunks.push(chunk))
    pdf.on('end', () => resolve(Buffer.concat(chunks)))
    pdf.on('error', reject)
  })

  const row = (cells: readonly string[]) => {
    if (pdf.y > 760) pdf.addPage()
    const { y } = pdf
    columns.forEach(({ x, width, align }, i) =>
      pdf.text(printable(cells[i] ?? ''), x, y, { width, align, lineBreak: false }),
    )
    pdf.y = y + 18
  }
  const rule = () => {
    pdf
      .moveTo(left, pdf.y - 4)
      .lineTo(right, pdf.y - 4)
      .strokeColor('#cccccc')
      .stroke()
    pdf.y += 4
  }

  pdf.font('Helvetica-Bold').fontSize(20).text('Invoice', left)
  pdf.font('Helvetica').fontSize(10).moveDown(0.5)
  pdf
    .text(`Number: ${number}`)
    .text(`Month: ${month} (UTC)`)
    .text(`Date: ${closedAt.toISOString().slice(0, 10)}`)
  pdf.moveDown()
  for (const line of addressOf(customer)) pdf.text(printable(line))
  pdf.moveDown(1.5).font('Helvetica-Bold')
  row(columns.map((column) => column.title))
  rule()
  pdf.font('Helvetica')
  for (const item of mergeSquids(receipt).items) row([billableLabel(item.type), item.amount, item.rate, item.subtotal])
  rule()
  row(['Subtotal', '', '', receipt.subTotal])
  for (const discount of receipt.discounts)
    row([
      discount.type === 'rpc_included' ? 'Included RPC requests' : `Discount ${discount.percent} %`,
      '',
      '',
      `-${discount.amount}`,
    ])
  row([`VAT ${receipt.tax.percent} %`, '', '', receipt.tax.amount])
  pdf.font('Helvetica-Bold')
  row(['Total, USD', '', '', receipt.total])
  pdf.end()
  return await done
}

function addressOf({ name, code, details }: InvoiceRow['customer']): string[] {
  if (!details) return [name, `Organization ${code}`]
  const { addressLine1, postalCode, city, country, vatId } = details
  return [details.name, addressLine1, `${postalCode} ${city}`, country, ...(vatId ? [`VAT ID ${vatId}`] : [])]
}

/** The built-in fonts know Latin letters only. */
const printable = (text: string): string => text.replaceAll(/[^\u0020-\u007E\u00A0-\u00FF]/g, '?')
