import type PDFKit from 'pdfkit'
import type { StoredInvoice } from '../payments/payment-store.ts'
import { drawRuns, runsOf, replacementCharacter, unprintedOf, type PdfFont } from './pdf-fonts.ts'

type Pdf = InstanceType<typeof PDFKit>

/** The colour of labels and notes. */
export const mutedColor = '#5b6673'
/** Line metrics in points, for addresses and for the invoice's number, month, date and status. */
export const lineMetrics = { lineHeight: 13, baseline: 7 }

type AddressBlock = { x: number; width: number; fonts: readonly PdfFont[] }

/** Draws a labelled address at the current position. */
export function drawAddress(
  pdf: Pdf,
  label: string,
  texts: readonly string[],
  { x, width, fonts }: AddressBlock,
): void {
  if (texts.length === 0) return
  const draw = (text: string) => drawRuns(pdf, runsOf(text, fonts), { x, width, ...lineMetrics })
  pdf.fillColor(mutedColor)
  draw(label)
  pdf.fillColor('#000000')
  texts.forEach(draw)
  if (unprintedOf(texts, fonts).length > 0) {
    pdf.fillColor(mutedColor)
    draw(`${replacementCharacter} is a character that this PDF has no font for.`)
  }
  pdf.y += 8
}

/** Returns the lines of the customer's address when the month was closed. */
export function printedAddressOf({ name, code, details }: StoredInvoice['customer']): string[] {
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
