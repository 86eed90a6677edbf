import { Big } from 'big.js'
import { inflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { readPriceBook } from '../prices/price-book.ts'
import { msPerHour } from '../time.ts'
import { invoicePdf } from './invoice-pdf.ts'
import { receiptOf } from './receipt.ts'

const book = readPriceBook({ SHOAL_PRICE_BOOK: undefined })

/** The invoice of so many small versions, for a whole month. */
async function invoiceOf(squids: number): Promise<Buffer> {
  const usage = Array.from({ length: squids }, (_, i) => ({
    day: '2026-10-01',
    type: 'api.small',
    squidId: i + 1,
    squidName: `squid-${i + 1}@v1`,
    quantity: BigInt(744 * msPerHour),
  }))
  const receipt = receiptOf({ book, month: '2026-10', usage, discountPercent: new Big(10), country: 'CH' })
  const at = new Date('2026-11-01T01:00:00Z')
  const details = {
    name: 'Łódź Indexers',
    email: 'a@b.c',
    country: 'CH',
    city: 'Zürich',
    postalCode: '8001',
    addressLine1: 'Street 1',
    vatId: null,
  }
  return await invoicePdf({
    number: 7,
    orgId: 1,
    month: '2026-10',
    closedAt: at,
    receipt,
    customer: { code: 'acme', name: 'Acme', details },
    seller: ['Example Hosting AG', 'VAT ID CHE-1'],
    totalUsd: receipt.total,
    paidAt: at,
  })
}

/** The words of each page, in the order they were written. */
function pagesOf(pdf: Buffer): string[][] {
  const pages: string[][] = []
  for (let at = pdf.indexOf('stream\n'); at !== -1; at = pdf.indexOf('stream\n', pdf.indexOf('endstream', at) + 9)) {
    const content = inflateSync(pdf.subarray(at + 7)).toString('latin1')
    const words = [...content.matchAll(/\[([^\]]*)\] TJ/g)].map(([, parts = '']) =>
      [...parts.matchAll(/<([0-9a-f]*)>/g)].map(([, hex = '']) => Buffer.from(hex, 'hex').toString('latin1')).join(''),
    )
    if (words.length > 0) pages.push(words)
  }
  return pages
}

test('an invoice says who bills whom, and its columns add up to what is to be paid', async () => {
  const [first = [], second = []] = pagesOf(await invoiceOf(2))
  expect(first).toEqual(
    expect.arrayContaining(['SHOAL-000007', 'Paid on 2026-11-01', 'Example Hosting AG', 'Switzerland']),
  )
  // The built-in fonts have no Polish letters.
  expect(first).toContain('Lódz Indexers')
  const from = first.indexOf('API, small')
  // Digits before and after the point are drawn apart.
  expect(
    first
      .slice(from)
      .join(' ')
      .replaceAll(/ (?=\.)/g, ''),
  ).toBe(
    'API, small 1,488 0.048 71.424 Subtotal 71.424 Discount 10 % -7.1424 Net 64.28 VAT 8.1 % 5.21 Total, USD 69.49 SHOAL-000007, page 1 of 2',
  )
  expect(second.slice(0, 7)).toEqual(['Usage by squid', 'Squid', 'Item', 'Amount', 'Rate, $', 'Cost, $', 'squid-1@v1'])
})

test('a long one goes on on further pages, each with its head, each squid once and in order', async () => {
  const pages = pagesOf(await invoiceOf(60))
  expect(pages).toHaveLength(3)
  pages.slice(1).forEach((words, i) => {
    expect(words).toEqual(expect.arrayContaining(['Squid', 'Cost, $', `SHOAL-000007, page ${i + 2} of 3`]))
  })
  const names = pages.flat().filter((word) => /^squid-\d+@v1$/.test(word))
  expect(names).toEqual(Array.from({ length: 60 }, (_, i) => `squid-${i + 1}@v1`))
})
