import { offeredPrograms, type Contract, type PayloadOf } from '@shoal/contract'
import { dayOfMs } from '../time.ts'
import { listAt, priceOf, type PriceBook, type PriceList } from './price-book.ts'

type PublicPrices = PayloadOf<Contract['billing']['getPrices']>

/** The list in force and those that were announced. */
export function publicPrices(book: PriceBook, now: Date): PublicPrices {
  const current = listAt(book, now.getTime())
  return [current, ...book.lists.filter((list) => list.from > dayOfMs(now.getTime()) && list !== current)].map(
    publicPrice,
  )
}

const publicPrice = (list: PriceList): PublicPrices[number] => ({
  from: list.from,
  rates: typesOf(list).map((type) => {
    const { dollars, perUnits } = priceOf(list, type)
    return { type, rateUsd: dollars.div(perUnits).round(8).toFixed() }
  }),
  storageGbMonthUsd: list.storageGbMonth.toFixed(),
  rpcIncludedMillions: list.rpcIncludedMillions.toFixed(),
})

/** What can be had: an addon that deployments refuse has a price in the book and none here. */
const typesOf = (list: PriceList): string[] => [
  ...Object.keys(list.profiles).flatMap((profile) => offeredPrograms.map((resource) => `${resource}.${profile}`)),
  'collocated',
  'storage',
  'rpc',
]
