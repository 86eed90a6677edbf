export { rpcHandlers } from './handlers.ts'
export { addUsage, deleteRpcUsageBefore, findTokenOwner, type TokenOwner, type UsageRow } from './store.ts'
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
