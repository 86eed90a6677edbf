import type { RpcError } from './json-rpc.ts'

/**
 * Extracts results from node responses without parsing them, since a block can be megabytes.
 * Functions return null for responses that must be parsed instead.
 */

const envelopeField = /"(?:jsonrpc|id)"\s*:\s*(?:"[^"\\]*"|-?\d+|null)/.source
const beforeResult = new RegExp(`^\\s*\\{\\s*(?:${envelopeField}\\s*,\\s*)*"result"\\s*:\\s*`)
const afterResult = new RegExp(`\\s*(?:,\\s*${envelopeField}\\s*)*\\}\\s*$`)
/** Maximum length of each part of the envelope: the part before the result, and the part after it. */
export const envelopeBytes = 128
/** Matches a complete literal. Some nodes write `null,"error":…`, which must not match. */
const literal = /^(?:null|true|false|-?\d[\d.eE+-]*)$/

/** Returns the offset of the result; null when the first bytes do not contain it. */
export function resultStart(head: Buffer): number | null {
  return beforeResult.exec(head.toString('latin1', 0, envelopeBytes))?.[0].length ?? null
}

/**
 * Returns the end of the result within the last bytes of a response. Quotes inside strings are escaped, so `,"id"` can only be a
 * key, and only envelope fields can be between the result and the closing brace of the envelope.
 */
export function resultEnd(tail: Buffer): number | null {
  const from = Math.max(0, tail.length - envelopeBytes)
  const match = afterResult.exec(tail.toString('latin1', from))
  return match ? from + match.index : null
}

/** Closing byte of objects, arrays and strings by their opening byte. */
const closingBytes = new Map([
  [0x7b, 0x7d],
  [0x5b, 0x5d],
  [0x22, 0x22],
])

/**
 * Returns the JSON of the result within a complete response. An unknown field after the result that ends with the same byte would be
 * included, which is harmless within the gateway's own envelope.
 */
function extractResult(response: Buffer): Buffer | null {
  const start = resultStart(response)
  const end = resultEnd(response)
  if (start === null || end === null || end <= start) return null
  const result = response.subarray(start, end)
  const closingByte = closingBytes.get(result[0] ?? 0)
  const isComplete =
    closingByte === undefined
      ? literal.test(result.toString('latin1', 0, envelopeBytes))
      : result.length > 1 && result.at(-1) === closingByte
  return isComplete ? result : null
}

/** The result of a response as JSON, or its error. */
export type NodeResponse = { result: Buffer } | { error: RpcError }

/** Parses a response as far as needed. @throws Error when it is not a JSON-RPC response */
export function readResponse(response: Buffer): NodeResponse {
  const extracted = extractResult(response)
  if (extracted) return { result: extracted }
  const parsed: unknown = JSON.parse(response.toString())
  if (typeof parsed !== 'object' || parsed === null) throw new Error('not a JSON-RPC response')
  if ('error' in parsed && parsed.error) return { error: toRpcError(parsed.error) }
  if ('result' in parsed) return { result: Buffer.from(JSON.stringify(parsed.result)) }
  throw new Error('not a JSON-RPC response')
}

function toRpcError(error: unknown): RpcError {
  const { code, message, data } = (typeof error === 'object' ? error : { message: error }) as Partial<RpcError>
  return {
    code: typeof code === 'number' ? code : -32603,
    message: typeof message === 'string' ? message : 'The node returned an error',
    ...(data === undefined ? {} : { data }),
  }
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]

/** Returns the elements of a JSON array as views of the same memory; null when `json` is not an array. */
export function splitArray(json: Buffer): Buffer[] | null {
  const elements: Buffer[] = []
  let depth = 0
  let from = -1
  for (let i = 0; i < json.length; i += 1) {
    const byte = json[i]
    if (byte === quote) i = stringEnd(json, i)
    else if (byte === 0x5b || byte === 0x7b) {
      depth += 1
      if (depth === 1) {
        if (byte !== 0x5b) return null
        from = i + 1
      }
    } else if (byte === 0x5d || byte === 0x7d) {
      depth -= 1
      if (depth === 0) {
        const last = json.subarray(from, i)
        if (elements.length > 0 || !isBlank(last)) elements.push(last)
        return elements
      }
    } else if (byte === comma && depth === 1) {
      elements.push(json.subarray(from, i))
      from = i + 1
    }
  }
  return null
}

/** Returns the index of the closing quote. Uses `indexOf`, which is fast, since most of a block is long hexadecimal strings. */
function stringEnd(json: Buffer, start: number): number {
  let end = json.indexOf(quote, start + 1)
  while (end > 0 && isEscaped(json, end)) end = json.indexOf(quote, end + 1)
  return end < 0 ? json.length : end
}

function isEscaped(json: Buffer, at: number): boolean {
  let slashes = 0
  while (json[at - 1 - slashes] === backslash) slashes += 1
  return slashes % 2 === 1
}

const isBlank = (bytes: Buffer): boolean => bytes.toString('latin1').trim() === ''
