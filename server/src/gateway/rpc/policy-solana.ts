import { careful, constant, notAvailable, reading, type CallPolicy, type PolicyRefusal } from './call-policy.ts'

const writing = /^(?:sendTransaction|requestAirdrop)$/
const readingMethods = /^(?:get|is|minimumLedgerSlot|simulateTransaction)/

/** Of what is finalized, which is the default commitment, a block and a transaction never change. */
const immutable = new Set(['getBlock', 'getTransaction', 'getBlockTime'])

export function planSolana(method: string, params: readonly unknown[]): CallPolicy | PolicyRefusal {
  if (method === 'getGenesisHash') return constant
  if (/Subscribe|Unsubscribe/.test(method))
    return notAvailable(method, 'subscriptions are not offered for this chain; poll getSlot or getSignaturesForAddress')
  if (immutable.has(method) && isFinalized(params[1])) return constant
  if (writing.test(method) || !readingMethods.test(method)) return careful
  return reading
}

function isFinalized(options: unknown): boolean {
  if (typeof options !== 'object' || options === null || !('commitment' in options)) return true
  return options.commitment === 'finalized'
}
