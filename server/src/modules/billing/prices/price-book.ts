import { Big } from 'big.js'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import type { Config } from '../../../config/config.ts'
import { readFileOfSetting, InvalidSettingError } from '../../../config/invalid-setting.ts'
import { dayOfMs } from '../time.ts'

const Amount = z
  .string()
  .regex(/^\d{1,9}(\.\d{1,8})?$/, 'a decimal of at most 8 fraction digits, not negative')
  .transform((text) => new Big(text))
const Day = z.iso.date('a day, as in 2026-04-01')

const Profile = z.strictObject({ program: Amount, postgres: Amount, hasura: Amount })

const PriceListFile = z.strictObject({
  from: Day,
  profiles: z.strictObject({ small: Profile, medium: Profile, large: Profile, xlarge: Profile, '2xlarge': Profile }),
  collocated: Amount,
  storageGbMonth: Amount,
  rpcMillion: Amount,
  rpcIncludedMillions: Amount,
})
export type PriceList = z.output<typeof PriceListFile>

const rising = (rows: readonly { from: string }[]) => rows.every((row, i) => row.from > (rows[i - 1]?.from ?? ''))

const PriceBookFile = z.strictObject({
  seller: z.array(z.string().min(1).max(100)).max(10).default([]),
  lists: z.array(PriceListFile).min(1).refine(rising, 'each list must begin after the one before it'),
  tax: z.strictObject({
    countries: z.array(z.string().regex(/^[A-Z]{2}$/, 'two capital letters')),
    rates: z
      .array(z.strictObject({ from: Day, percent: Amount }))
      .min(1)
      .refine(rising, 'each rate must begin after the one before it'),
  }),
})
export type PriceBook = z.output<typeof PriceBookFile>

const shippedFile = join(import.meta.dirname, 'price-book.yaml')

/**
 * Prices of SHOAL_PRICE_BOOK, or those that ship. Numbers are read as text, so none of them was ever a float.
 * @throws InvalidSettingError naming the file and every wrong field
 */
export function readPriceBook(config: Pick<Config, 'SHOAL_PRICE_BOOK'>): PriceBook {
  const file = config.SHOAL_PRICE_BOOK ?? shippedFile
  const parsed = PriceBookFile.safeParse(parse(readFileOfSetting('SHOAL_PRICE_BOOK', file), { schema: 'failsafe' }))
  if (parsed.success) return parsed.data
  const sentences = parsed.error.issues.map((issue) => `  ${issue.path.join('.') || 'the file'}: ${issue.message}`)
  throw new InvalidSettingError(`The price book ${file} is not valid:\n${sentences.join('\n')}`)
}

/** The list in force at a moment; before the first list began, the first one. */
export function listAt(book: PriceBook, atMs: number): PriceList {
  return inForce(book.lists, atMs)
}

/** Percent of VAT for a customer in `country` (null: not said) at a moment; spec 9. */
export function taxPercent({ tax }: PriceBook, country: string | null, atMs: number): Big {
  const isTaxed = country === null || country === '' || tax.countries.includes(country)
  return isTaxed ? inForce(tax.rates, atMs).percent : new Big(0)
}

function inForce<T extends { from: string }>(rows: readonly T[], atMs: number): T {
  const day = dayOfMs(atMs)
  const row = rows.findLast((r) => r.from <= day) ?? rows[0]
  if (!row) throw new Error('A price book without lists')
  return row
}

const hoursOfMonth = 720
const msOfHour = 3_600_000
const bytesOfGb = 2 ** 30

/** What one unit costs and how it is counted. `quantity / unitQuantity` is the amount on the receipt. */
export type Price = {
  /** Of one unit. Exact: a quotient, since a price by the month has no end as a price by the hour. */
  dollars: Big
  perUnits: number
  /** How much of the meter's own unit is one: ms of an hour, byte-ms of a GB-hour, requests of a million. */
  unitQuantity: Big
}

/** @throws Error for a type that no list has a price for */
export function priceOf(list: PriceList, type: string): Price {
  if (type === 'rpc') return { dollars: list.rpcMillion, perUnits: 1, unitQuantity: new Big(1_000_000) }
  if (type === 'storage')
    return { dollars: list.storageGbMonth, perUnits: hoursOfMonth, unitQuantity: new Big(bytesOfGb).times(msOfHour) }
  return { dollars: hourly(list, type), perUnits: 1, unitQuantity: new Big(msOfHour) }
}

function hourly(list: PriceList, type: string): Big {
  if (type === 'collocated') return list.collocated
  const [resource = '', profile = ''] = type.split('.')
  const prices = Object.hasOwn(list.profiles, profile) ? list.profiles[profile as keyof PriceList['profiles']] : null
  if (prices && (resource === 'api' || resource === 'processor')) return prices.program
  if (prices && (resource === 'postgres' || resource === 'hasura')) return prices[resource]
  throw new Error(`There is no price for ${type}`)
}
