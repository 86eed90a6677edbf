export { rpcHandlers } from './handlers.ts'
export { addRpcUsage, deleteRpcUsageBefore, findTokenOwner, type TokenOwner, type RpcUsageRow } from './store.ts'
export {
  chainOfRpcUrl,
  existingRpcTokens,
  looksLikeRpcToken,
  rpcChainOf,
  rpcTokenChannel,
  rpcTokenContext,
  rpcVariableName,
  rpcVariables,
} from './tokens.ts'
