import {
  EvmBatchProcessor,
  type BlockHeader as ProcessorBlockHeader,
  type EvmBatchProcessorFields,
  type Log as ProcessorLog,
} from '@subsquid/evm-processor'
import * as erc20 from './abi/erc20'
import { optionalInteger, required } from './settings'

const contractAddress = process.env.CONTRACT_ADDRESS

export const processor = new EvmBatchProcessor()
  .setRpcEndpoint({
    url: required('RPC_URL'),
    // Requests per second. The processor automatically slows down when the endpoint responds with 429.
    rateLimit: optionalInteger('RPC_RATE_LIMIT') ?? 1000,
  })
  .setRpcDataIngestionSettings({ headPollInterval: optionalInteger('HEAD_POLL_INTERVAL_MS') })
  // The chain may still replace newer blocks. The processor then rolls back their rows.
  .setFinalityConfirmation(5)
  .setBlockRange({ from: optionalInteger('START_BLOCK') ?? 0 })
  .setFields({ log: { transactionHash: true } })
  .addLog({
    address: contractAddress ? [contractAddress.toLowerCase()] : undefined,
    topic0: [erc20.events.Transfer.topic],
  })

type Fields = EvmBatchProcessorFields<typeof processor>
export type BlockHeader = ProcessorBlockHeader<Fields>
export type Log = ProcessorLog<Fields>
