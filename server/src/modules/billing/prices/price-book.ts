import { Big } from 'big.js'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { dayOf } from '../../../clock.ts'
import type { Config } from '../../../config/config.ts'
import { readFileOfSetting, InvalidSettingError } from '../../../config/invalid-setting.ts'
import { msPerHour } from '../time.ts'
import { pricedPrograms, type Contract, type PayloadOf } from '@shoal/contract'

const Amount = z
  .string()
  .regex(/^\d{1,9}(\.\d{1,8})?$/, 'must be a non-negative decimal with at most 8 fraction digits')
  .transform((text) => new Big(text))
const Day = z.iso.date('must be a day such as 2026-04-01')

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

const isAscending = (rows: readonly { from: string }[]) => rows.every((row, i) => row.from > (rows[i - 1]?.from ?? ''))

const PriceBookFile = z.strictObject({
  seller: z.array(z.string().min(1).max(100)).max(10).default([]),
  lists: z.array(PriceListFile).min(1).refine(isAscending, 'each list must begin after the previous one'),
  tax: z.strictObject({
    countries: z.array(z.string().regex(/^[A-Z]{2}$/, 'must be two capital letters')),
    rates: z
      .array(z.strictObject({ from: Day, percent: Amount }))
      .min(1)
      .refine(isAscending, 'each rate must begin after the previous one'),
  }),
})
export type PriceBook = z.output<typeof PriceBookFile>

const builtInFile = join(import.meta.dirname, 'price-book.yaml')

/**
 * Reads the prices of SHOAL_PRICE_BOOK, or the built-in prices. Reads numbers as text, so that they are not rounded to floats.
 * @throws InvalidSettingError naming the file and every invalid field
 */
export function readPriceBook(config: Pick<Config, 'SHOAL_PRICE_BOOK'>): PriceBook {
  const file = config.SHOAL_PRICE_BOOK ?? builtInFile
  const parsed = PriceBookFile.safeParse(parse(readFileOfSetting('SHOAL_PRICE_BOOK', file), { schema: 'failsafe' }))
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => `  ${issue.path.join('.') || 'the file'}: ${issue.message}`)
  throw new InvalidSettingError(`The price book ${file} is not valid:\n${problems.join('\n')}`)
}

/** Returns the price list in force at a time; the first list also applies to earlier times. */
export function listAt(book: PriceBook, atMs: number): PriceList {
  return entryInForce(book.lists, atMs)
}

/** Returns the VAT rate in percent for a customer in `country` (null: unknown) at a time (spec 9). */
export function taxPercent({ tax }: PriceBook, country: string | null, atMs: number): Big {
  const isTaxed = country === null || country === '' || tax.countries.includes(country)
  return isTaxed ? entryInForce(tax.rates, atMs).percent : new Big(0)
}

function entryInForce<T extends { from: string }>(rows: readonly T[], atMs: number): T {
  const day = dayOf(atMs)
  const row = rows.findLast((r) => r.from <= day) ?? rows[0]
  if (!row) throw new Error('The price book has no lists')
  return row
}

/** The month of 720 hours that monthly prices refer to. */
export const hoursPerMonth = 720
/** Storage is billed per GB of 2^30 bytes. */
export const bytesPerGb = 2 ** 30

/** Price of one unit. `quantity / unitQuantity` is the amount on the receipt. */
export type Price = {
  /** Price of `perUnits` units. The price is a fraction, because the hourly share of a monthly price has no finite decimal. */
  dollars: Big
  perUnits: number
  /** Quantity of one unit, as the meter counts it: ms per hour, byte-ms per GB-hour, requests per million. */
  unitQuantity: Big
}

/** Returns the price of a type. @throws Error for a type without a price */
export function priceOf(list: PriceList, type: string): Price {
  if (type === 'rpc') return { dollars: list.rpcMillion, perUnits: 1, unitQuantity: new Big(1_000_000) }
  if (type === 'storage')
    return { dollars: list.storageGbMonth, perUnits: hoursPerMonth, unitQuantity: new Big(bytesPerGb).times(msPerHour) }
  return { dollars: hourlyPrice(list, type), perUnits: 1, unitQuantity: new Big(msPerHour) }
}

function hourlyPrice(list: PriceList, type: string): Big {
  if (type === 'collocated') return list.collocated
  const [resource = '', profile = ''] = type.split('.')
  const prices = Object.hasOwn(list.profiles, profile) ? list.profiles[profile as keyof PriceList['profiles']] : null
  if (prices && (resource === 'api' || resource === 'processor')) return prices.program
  if (prices && (resource === 'postgres' || resource === 'hasura')) return prices[resource]
  throw new Error(`No price for ${type}`)
}

type PublicPrices = PayloadOf<Contract['billing']['getPrices']>

/** Returns the prices of the programs and addons that this installation offers, in the list in force and in announced ones. */
export function publicPrices(book: PriceBook, now: Date, offers: Offers): PublicPrices {
  const current = listAt(book, now.getTime())
  return [current, ...book.lists.filter((list) => list.from > dayOf(now.getTime()) && list !== current)].map((list) =>
    publicPrice(list, offers),
  )
}

type Offers = { hasura: boolean }

const publicPrice = (list: PriceList, offers: Offers): PublicPrices[number] => ({
  from: list.from,
  rates: offeredTypes(list, offers).map((type) => {
    const { dollars, perUnits } = priceOf(list, type)
    return { type, rateUsd: dollars.div(perUnits).round(8).toFixed() }
  }),
  storageGbMonthUsd: list.storageGbMonth.toFixed(),
  rpcIncludedMillions: list.rpcIncludedMillions.toFixed(),
})

/** Returns the types with a public price. Omits Hasura if this installation does not offer it. */
const offeredTypes = (list: PriceList, offers: Offers): string[] => [
  ...Object.keys(list.profiles).flatMap((profile) =>
    pricedPrograms
      .filter((resource) => resource !== 'hasura' || offers.hasura)
      .map((resource) => `${resource}.${profile}`),
  ),
  'collocated',
  'storage',
  'rpc',
]
