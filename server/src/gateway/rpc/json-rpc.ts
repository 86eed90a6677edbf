/** JSON-RPC 2.0 as it comes in and goes out (https://www.jsonrpc.org/specification). */

export type RpcError = { code: number; message: string; data?: unknown }

/** `id` is JSON text, and null for a notification, which gets no answer. */
export type Call = { id: string | null; method: string; params: unknown }
export type Fault = { id: string; error: RpcError }

/** What a call came to. `json` and `stream` hold the JSON of the result as the node wrote it. */
export type Outcome =
  | { kind: 'result'; json: Buffer }
  | { kind: 'stream'; chunks: AsyncIterable<Uint8Array> }
  /** `isOurs`: no node answered, so it is not billed. */
  | { kind: 'error'; error: RpcError; isOurs: boolean }

export const codes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** What nodes answer when nothing more precise fits. */
  serverError: -32000,
  /** EIP-1474: resource unavailable. */
  unavailable: -32002,
  /** EIP-1474: limit exceeded. */
  limitExceeded: -32005,
  unauthorized: -32001,
} as const

export const ourError = (code: number, message: string): Outcome => ({
  kind: 'error',
  error: { code, message },
  isOurs: true,
})

export type Parsed = { isBatch: boolean; calls: (Call | Fault)[] }

export const isFault = (call: Call | Fault): call is Fault => 'error' in call

/** Never throws: what is wrong becomes a fault with the caller's id where it has one. */
export function parseCalls(body: string, maxBatch: number): Parsed {
  let json: unknown
  try {
    json = JSON.parse(body)
  } catch {
    return alone(fault('null', codes.parseError, 'Parse error: the body is not JSON'))
  }
  if (!Array.isArray(json)) return alone(parseCall(json))
  if (json.length === 0) return alone(fault('null', codes.invalidRequest, 'Invalid request: an empty batch'))
  if (json.length > maxBatch)
    return alone(fault('null', codes.limitExceeded, `A batch may hold at most ${maxBatch} calls, not ${json.length}`))
  return { isBatch: true, calls: json.map(parseCall) }
}

const alone = (call: Call | Fault): Parsed => ({ isBatch: false, calls: [call] })
const fault = (id: string, code: number, message: string): Fault => ({ id, error: { code, message } })

function parseCall(given: unknown): Call | Fault {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return fault('null', codes.invalidRequest, 'Invalid request: a call is an object')
  const { id, method, params } = given as Record<string, unknown>
  if (id !== undefined && id !== null && typeof id !== 'string' && typeof id !== 'number')
    return fault('null', codes.invalidRequest, 'Invalid request: id must be a string or a number')
  const idText = id === undefined ? null : JSON.stringify(id)
  if (typeof method !== 'string' || !/^[\w.:/-]{1,100}$/.test(method))
    return fault(idText ?? 'null', codes.invalidRequest, 'Invalid request: method must be a name')
  if (params !== undefined && (typeof params !== 'object' || params === null))
    return fault(idText ?? 'null', codes.invalidRequest, 'Invalid request: params must be an array or an object')
  return { id: idText, method, params: params ?? [] }
}

/** Everything of an answer before the JSON of its result; what follows it is `}`. */
export const resultHead = (id: string): string => `{"jsonrpc":"2.0","id":${id},"result":`

export const errorText = (id: string, error: RpcError): string =>
  `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`
