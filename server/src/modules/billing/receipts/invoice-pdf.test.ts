import { Big } from 'big.js'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { readPriceBook } from '../prices/price-book.ts'
import { pagesOf } from '../testing/pdf-text.ts'
import { msPerHour } from '../time.ts'
import { checkedFontFile } from './font-file.ts'
import { invoicePdf } from './invoice-pdf.ts'
import { receiptOf } from './receipt.ts'

const book = readPriceBook({ SHOAL_PRICE_BOOK: undefined })
const armenianFont = fileURLToPath(
  import.meta.resolve('@fontsource/noto-sans-armenian/files/noto-sans-armenian-armenian-400-normal.woff'),
)

/** Logged warnings, as JSON. */
const warnings: string[] = []
const log = pino({ level: 'warn' }, { write: (record: string) => warnings.push(record) })

type InvoiceOptions = { squids?: number; name?: string; city?: string; fontFile?: string }

/** Renders an invoice for `squids` small versions that ran for a whole month. */
async function invoiceOf({
  squids = 2,
  name = 'Acme',
  city = 'Zürich',
  fontFile,
}: InvoiceOptions = {}): Promise<Buffer> {
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
    name,
    email: 'a@b.c',
    country: 'CH',
    city,
    postalCode: '8001',
    addressLine1: 'Street 1',
    vatId: null,
  }
  const row = {
    number: 7,
    orgId: 1,
    month: '2026-10',
    closedAt: at,
    receipt,
    customer: { code: 'acme', name: 'Acme', details },
    seller: ['Example Hosting AG', 'VAT ID CHE-1'],
    totalUsd: receipt.total,
    paidAt: at,
  }
  return await invoicePdf(row, { log, fontFile })
}

/** Returns the customer's address as printed, without separators. */
async function printedCustomer(options: InvoiceOptions): Promise<string> {
  const [firstPage = []] = pagesOf(await invoiceOf(options))
  return firstPage.slice(firstPage.indexOf('Bill to') + 1, firstPage.indexOf('Item')).join('')
}

test('an invoice names seller and customer, and its columns add up to the total', async () => {
  const [firstPage = [], secondPage = []] = pagesOf(await invoiceOf())
  expect(firstPage).toEqual(
    expect.arrayContaining(['SHOAL-000007', 'Paid on 2026-11-01', 'Example Hosting AG', 'Switzerland']),
  )
  const from = firstPage.indexOf('API, small')
  // Digits before and after the point are drawn separately.
  expect(
    firstPage
      .slice(from)
      .join(' ')
      .replaceAll(/ (?=\.)/g, ''),
  ).toBe(
    'API, small 1,488 0.048 71.424 Subtotal 71.424 Discount 10 % -7.1424 Net 64.28 VAT 8.1 % 5.21 Total, USD 69.49 SHOAL-000007, page 1 of 2',
  )
  expect(secondPage.slice(0, 7)).toEqual([
    'Usage by squid',
    'Squid',
    'Item',
    'Amount',
    'Rate, $',
    'Cost, $',
    'squid-1@v1',
  ])
})

test('a long invoice has several pages with headers, and lists each squid once and in order', async () => {
  const pages = pagesOf(await invoiceOf({ squids: 60 }))
  expect(pages).toHaveLength(3)
  pages.slice(1).forEach((words, i) => {
    expect(words).toEqual(expect.arrayContaining(['Squid', 'Cost, $', `SHOAL-000007, page ${i + 2} of 3`]))
  })
  const names = pages.flat().filter((word) => /^squid-\d+@v1$/.test(word))
  expect(names).toEqual(Array.from({ length: 60 }, (_, i) => `squid-${i + 1}@v1`))
})

test.each([
  ['Polish', 'Łódzkie Zakłady „Ósemka” Sp. z o.o.', 'Łódź'],
  ['Ukrainian', 'ТОВ «Київський ґанок їжака»', 'Київ'],
  ['Greek', 'Ελληνική Εταιρεία Α.Ε.', 'Αθήνα'],
  ['Vietnamese', 'Công ty Hữu hạn', 'Thành phố Huế'],
  ['Romanian', 'Soluții Știință S.R.L.', 'Timișoara'],
  ['Kazakh', 'Қазақ Өнер ЖШС', 'Үштөбе'],
])('%s names are printed and can be searched', async (_, name, city) => {
  warnings.length = 0
  expect(await printedCustomer({ name, city })).toBe(`${name}Street 18001 ${city}Switzerland`)
  expect(warnings).toEqual([])
})

test('decomposed accents are composed, line breaks become spaces, and direction controls are removed', async () => {
  const name = `${'Łódź'.normalize('NFD')}\n\u202EAG`
  expect(await printedCustomer({ name })).toContain('Łódź AGStreet 1')
})

test('characters without a font are replaced by a mark, but can be copied, and a warning is logged', async () => {
  warnings.length = 0
  const customer = await printedCustomer({ name: 'Երևան (東京) AG', city: 'תל אביב' })
  expect(customer).toMatch(/^Երևան \(東京\) AGStreet 18001 תל אביבSwitzerland/)
  expect(customer).toContain('\uFFFD is a character that this PDF has no font for.')
  expect(warnings).toHaveLength(1)
  expect(JSON.parse(warnings[0] ?? '')).toMatchObject({
    invoice: 'SHOAL-000007',
    characters: expect.arrayContaining(['東']),
  })
})

test("the operator's font prints characters that the built-in font does not have, even within one name", async () => {
  warnings.length = 0
  const options = { name: 'Łódź Երևան Київ', fontFile: checkedFontFile({ SHOAL_INVOICE_FONT: armenianFont }) }
  expect(await printedCustomer(options)).toBe('Łódź Երևան КиївStreet 18001 ZürichSwitzerland')
  expect(warnings).toEqual([])
  expect((await invoiceOf(options)).includes('NotoSansArmenian')).toBe(true)
  expect((await invoiceOf({ ...options, name: 'Łódź' })).includes('NotoSansArmenian')).toBe(false)
})

test('an invoice always renders to the same bytes, in a small file', async () => {
  const pdf = await invoiceOf({ name: 'Łódź' })
  expect((await invoiceOf({ name: 'Київ' })).equals(pdf)).toBe(false)
  expect((await invoiceOf({ name: 'Łódź' })).equals(pdf)).toBe(true)
  expect(pdf.length).toBeLessThan(30_000)
})

test.each([
  ['no-such-file.ttf', 'SHOAL_INVOICE_FONT: no-such-file.ttf cannot be read'],
  [import.meta.filename, /invoice-pdf\.test\.ts is not a font/],
])('%s is rejected as a font at start', (file, problem) => {
  expect(() => checkedFontFile({ SHOAL_INVOICE_FONT: file })).toThrow(problem)
})
