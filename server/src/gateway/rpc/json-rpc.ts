/** JSON-RPC 2.0 messages (https://www.jsonrpc.org/specification). */

/** The error of a response. */
export type RpcError = { code: number; message: string; data?: unknown }

/** A valid call. `id` is JSON text; null for a notification, which gets no response. */
export type RpcCall = { id: string | null; method: string; params: unknown }
/** An invalid call. `id` is JSON text, `null` if the call has no valid id. */
export type InvalidCall = { id: string; error: RpcError }

/**
 * Outcome of a call. `json` and `chunks` contain the JSON of the result as the node wrote it. A stream occupies a connection to the node
 * until it is read or canceled.
 */
export type RpcOutcome =
  | { kind: 'result'; json: Buffer }
  | { kind: 'stream'; chunks: AsyncIterable<Uint8Array>; cancel: () => void }
  /** `isFromGateway`: the error is the gateway's, not a node's, so the call is not billed. */
  | { kind: 'error'; error: RpcError; isFromGateway: boolean }

/** Maximum number of calls in a batch. */
const maxBatchCalls = 1_000

/** Ends the stream of an outcome, if it has not ended. */
export const cancelStream = (outcome: RpcOutcome): void => {
  if (outcome.kind === 'stream') outcome.cancel()
}

/** The error codes that the gateway uses, those of JSON-RPC 2.0 unless the comment says otherwise. */
export const codes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** Generic error of nodes. */
  serverError: -32000,
  /** EIP-1474: resource unavailable. */
  unavailable: -32002,
  /** EIP-1474: limit exceeded. */
  limitExceeded: -32005,
  /** Shoal's own: the token is unknown, or its organization may not send calls. */
  unauthorized: -32001,
} as const

/** Returns the outcome for an error of the gateway itself. */
export const gatewayError = (code: number, message: string): RpcOutcome => ({
  kind: 'error',
  error: { code, message },
  isFromGateway: true,
})

/** The calls of one body, in their order. */
export type Parsed = { isBatch: boolean; calls: (RpcCall | InvalidCall)[] }

/** Whether an element of a body is not a valid call. */
export const isInvalidCall = (call: RpcCall | InvalidCall): call is InvalidCall => 'error' in call

/** Parses a body of one call or a batch. Never throws: an element that is not a valid call becomes an `InvalidCall`. */
export function parseCalls(body: string, maxBatch = maxBatchCalls): Parsed {
  let json: unknown
  try {
    json = JSON.parse(body)
  } catch {
    return single(invalidCall('null', codes.parseError, 'Parse error: the body is not JSON'))
  }
  if (!Array.isArray(json)) return single(parseCall(json))
  if (json.length === 0) return single(invalidCall('null', codes.invalidRequest, 'Invalid request: an empty batch'))
  if (json.length > maxBatch)
    return single(
      invalidCall('null', codes.limitExceeded, `A batch may contain at most ${maxBatch} calls, not ${json.length}`),
    )
  return { isBatch: true, calls: json.map(parseCall) }
}

const single = (call: RpcCall | InvalidCall): Parsed => ({ isBatch: false, calls: [call] })
const invalidCall = (id: string, code: number, message: string): InvalidCall => ({ id, error: { code, message } })

function parseCall(value: unknown): RpcCall | InvalidCall {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return invalidCall('null', codes.invalidRequest, 'Invalid request: a call is an object')
  const { id, method, params } = value as Record<string, unknown>
  if (id !== undefined && id !== null && typeof id !== 'string' && typeof id !== 'number')
    return invalidCall('null', codes.invalidRequest, 'Invalid request: id must be a string or a number')
  const idText = id === undefined ? null : JSON.stringify(id)
  if (typeof method !== 'string' || !/^[\w.:/-]{1,100}$/.test(method))
    return invalidCall(idText ?? 'null', codes.invalidRequest, 'Invalid request: method must be a name')
  if (params !== undefined && (typeof params !== 'object' || params === null))
    return invalidCall(idText ?? 'null', codes.invalidRequest, 'Invalid request: params must be an array or an object')
  return { id: idText, method, params: params ?? [] }
}

/** Returns the start of a response, up to its result. A `}` must follow the result. */
export const resultHead = (id: string): string => `{"jsonrpc":"2.0","id":${id},"result":`

/** Returns the response that reports an error. */
export const errorText = (id: string, error: RpcError): string =>
  `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`
