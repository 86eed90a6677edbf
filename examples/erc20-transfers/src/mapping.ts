import * as erc20 from './abi/erc20'
import { Transfer } from './model'
import type { BlockHeader, Log } from './processor'

/** Returns the row of a log; null if the log is not an ERC-20 transfer. ERC-721 transfers have the same topic, but also index the token id. */
export function toTransfer(block: BlockHeader, log: Log): Transfer | null {
  if (log.topics.length !== 3) return null
  const { from, to, value } = erc20.events.Transfer.decode(log)
  return new Transfer({
    id: log.id,
    block: block.height,
    timestamp: new Date(block.timestamp),
    contract: log.address,
    from,
    to,
    value,
    txHash: log.transactionHash,
  })
}
