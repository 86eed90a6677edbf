export type { ChainHead } from './chain-head.ts'
export { iconPathOf } from './icon.ts'
export { chainsOf, gatewayRootOf, type Chain } from './chains.ts'
export { msPerBlockOf, msPerMoveOf, nextBlockRate, unknownBlockRate, type BlockRate } from './block-rate.ts'
export { rpcHandlers, rpcWatchChannel } from './handlers.ts'
export { observeHeads } from './observe-heads.ts'
export type { UpstreamSettings } from './rpc-config.ts'
export {
  addUsage,
  deleteRpcUsageBefore,
  findTokenOwner,
  monthOf,
  rpcUsageOfMonth,
  saveUpstreamStates,
  type TokenOwner,
  type UsageRow,
} from './store.ts'
export { rpcUpstreamStates, rpcUsage } from './tables.ts'
export {
  existingRpcToken,
  hashOfRpcToken,
  looksLikeRpcToken,
  rpcChainOf,
  rpcTokenChannel,
  rpcTokenContext,
  rpcTokenOf,
  rpcVariableName,
  rpcVariables,
} from './tokens.ts'
