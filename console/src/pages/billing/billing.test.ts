import { monthCsv } from '@shoal/contract'
import { expect, test } from 'vitest'
import { formatCents } from '../../lib/format.ts'
import { monthlyUsd } from './calculate.ts'
import { cardErrors, expiryOf, expiryStateOf, formatCvc, formatExpiry, formatNumber, parseCard } from './cards/card.ts'
import { countryOptions } from './countries.ts'
import { exportCommand } from './export-commands.ts'
import { dayLabel, isMonth, monthTitle, recentMonths } from './months.ts'

test('recent months are those in UTC, in this year and the previous one', () => {
  expect(recentMonths(Date.parse('2026-01-31T23:59:59Z'), 3)).toEqual(['2026-01', '2025-12', '2025-11'])
  expect(monthTitle('2026-09')).toBe('September 2026')
  expect(dayLabel(Date.parse('2026-11-01T00:00:00Z'))).toBe('01.11')
  expect(['2026-12', '2026-13', '2026-00', '26-01', '2026-1'].map(isMonth)).toEqual([true, false, false, false, false])
})

test('amounts are rounded to cents', () => {
  expect([formatCents('0'), formatCents('1234.5678'), formatCents('0.999'), formatCents(7)]).toEqual([
    '$0.00',
    '$1,234.57',
    '$1.00',
    '$7.00',
  ])
})

const now = Date.UTC(2026, 8, 2)

test('an incomplete or invalid card is parsed as null, and each such field has an error message', () => {
  const complete = { number: '4242 4242 4242 4242', expiry: '04 / 31', cvc: '123' }
  const card = { number: '4242424242424242', expMonth: 4, expYear: 2031, cvc: '123' }
  expect(parseCard(complete, now)).toEqual(card)
  expect(parseCard({ ...complete, expiry: '4/2031' }, now)).toEqual(card)
  expect(parseCard({ number: '4242424242424242', expiry: '0431', cvc: '123' }, now)).toEqual(card)
  for (const [invalidFields, error] of [
    [{ number: '4242 4242' }, 'Enter all digits of the card number'],
    [{ expiry: '13/31' }, 'Months are 01 to 12'],
    [{ expiry: '00/31' }, 'Months are 01 to 12'],
    [{ expiry: '04' }, 'Enter month and year, as in 04 / 31'],
    [{ expiry: '08 / 26' }, 'The card has expired'],
    [{ cvc: '12' }, 'Enter 3 or 4 digits'],
    [{ cvc: '' }, 'Enter 3 or 4 digits'],
  ] as const) {
    const fields = { ...complete, ...invalidFields }
    expect(parseCard(fields, now), JSON.stringify(invalidFields)).toBeNull()
    expect(Object.values(cardErrors(fields, now)).filter((text) => text !== undefined)).toEqual([error])
  }
  expect(parseCard({ ...complete, expiry: '09 / 26' }, now)).toMatchObject({ expMonth: 9, expYear: 2026 })
})

test('card fields are formatted after each character, and users can delete characters', () => {
  const valuesWhileTyping = (text: string, format: (text: string) => string) =>
    Array.from(text).reduce<string[]>((values, key) => [...values, format((values.at(-1) ?? '') + key)], [])
  expect(valuesWhileTyping('42424242', formatNumber).at(-1)).toBe('4242 4242')
  expect(valuesWhileTyping('1230', formatExpiry)).toEqual(['1', '12', '12 / 3', '12 / 30'])
  expect(valuesWhileTyping('12/30', formatExpiry).at(-1)).toBe('12 / 30')
  expect(valuesWhileTyping('4/31', formatExpiry).at(-1)).toBe('04 / 31')
  expect(valuesWhileTyping('12/2030', formatExpiry).at(-1)).toBe('12 / 30')
  expect(['12 / 2030', '122030', '1/30'].map(formatExpiry)).toEqual(['12 / 30', '12 / 30', '01 / 30'])
  expect(['12 / 3', '12 / ', '12 /', '1'].map(formatExpiry)).toEqual(['12 / 3', '12', '12', '1'])
  expect(formatCvc('12a345')).toBe('1234')
})

test('the calculator adds up programs, storage and the requests beyond the included ones', () => {
  const prices = {
    rates: [
      { type: 'api.small', rateUsd: '0.01' },
      { type: 'processor.small', rateUsd: '0.02' },
      { type: 'rpc', rateUsd: '2' },
    ],
    storageGbMonthUsd: '0.5',
    rpcIncludedMillions: '2',
  }
  const programs = [
    { type: 'api.small', count: 2 },
    { type: 'processor.small', count: 1 },
  ]
  expect(monthlyUsd(prices, { programs, storageGb: 10, rpcMillions: 5 })).toBeCloseTo(14.4 + 14.4 + 5 + 6)
  expect(monthlyUsd(prices, { programs: [], storageGb: 0, rpcMillions: 1 })).toBe(0)
})

test('the CSV export has the columns of spec 9 and escapes formulas in names', () => {
  const item = { type: 'api.small', amount: '720', rate: '0.01', subtotal: '7.2', discount: '0.72' }
  const squid = { id: 1, name: '=HYPERLINK("https://evil.example";"x")' }
  expect(monthCsv([{ ...item, squid }], true).split('\r\n')).toEqual([
    'Squid name;Type;Amount;Rate;Cost;Discount;Subtotal',
    `"'=HYPERLINK(""https://evil.example"";""x"")";"API, small";720;0.01;7.2;0.72;6.48`,
    '',
  ])
  expect(monthCsv([{ ...item, squid: null }], false).split('\r\n')[0]).toBe('Type;Amount;Rate;Cost;Discount;Subtotal')
})

test('a card is valid until the end of its expiry month, and expires soon in the 31 days before', () => {
  const card = { exp_month: 2, exp_year: 2026 }
  const stateAt = (time: string) => expiryStateOf(card, Date.parse(time))
  expect(stateAt('2026-01-28T00:00:00Z')).toBe('good')
  expect(stateAt('2026-02-01T00:00:00Z')).toBe('soon')
  expect(stateAt('2026-02-28T23:59:59Z')).toBe('soon')
  expect(stateAt('2026-03-01T00:00:00Z')).toBe('expired')
  expect(expiryOf(card)).toBe('02/26')
})

test('the country options contain all countries, sorted by name', () => {
  const options = countryOptions()
  expect(options).toHaveLength(249)
  expect(options.filter(({ id, label }) => id === label)).toEqual([])
  expect(options[0]).toEqual({ id: 'AF', label: 'Afghanistan' })
  expect(options.find(({ id }) => id === 'CH')?.label).toBe('Switzerland')
})

test('the export command downloads a database and restores it into another Postgres', () => {
  expect(exportCommand('https://shoal.dev', 'acme', 'a@v1')).toBe(
    "curl -f -H 'authorization: token YOUR_API_TOKEN' -o a@v1.sql.gz https://shoal.dev/api/v1/orgs/acme/squids/a@v1/database/export\n" +
      "gunzip -c a@v1.sql.gz | psql 'postgres://YOUR_DATABASE'",
  )
})
