import { conservative, constant, notAvailable, readOnly, type CallPolicy, type PolicyRejection } from './call-policy.ts'

const writeMethods = /^(?:sendTransaction|requestAirdrop)$/
const readMethods = /^(?:get|is|minimumLedgerSlot|simulateTransaction)/

/** Methods whose responses never change at the commitment `finalized`, which is the default. */
const immutableMethods = new Set(['getBlock', 'getTransaction', 'getBlockTime'])

/** Returns the policy of a call to a Solana chain. */
export function solanaPolicy(method: string, params: readonly unknown[]): CallPolicy | PolicyRejection {
  if (method === 'getGenesisHash') return constant
  if (/Subscribe|Unsubscribe/.test(method))
    return notAvailable(method, 'subscriptions are not offered for this chain; poll getSlot or getSignaturesForAddress')
  if (immutableMethods.has(method) && isFinalized(params[1])) return constant
  if (writeMethods.test(method) || !readMethods.test(method)) return conservative
  return readOnly
}

function isFinalized(options: unknown): boolean {
  if (typeof options !== 'object' || options === null || !('commitment' in options)) return true
  return options.commitment === 'finalized'
}
