import type { RpcError } from './json-rpc.ts'

/**
 * Extracts results from node responses without parsing them, since a block can be megabytes.
 * Each function returns null for responses it cannot handle; these are parsed instead.
 */

const field = /"(?:jsonrpc|id)"\s*:\s*(?:"[^"\\]*"|-?\d+|null)/.source
const beforeResult = new RegExp(`^\\s*\\{\\s*(?:${field}\\s*,\\s*)*"result"\\s*:\\s*`)
const afterResult = new RegExp(`\\s*(?:,\\s*${field}\\s*)*\\}\\s*$`)
/** Upper bound for the envelope that nodes write around a result. */
export const envelopeBytes = 128
/** A complete literal. Some nodes write `null,"error":…`, which must not match. */
const literal = /^(?:null|true|false|-?\d[\d.eE+-]*)$/

/** Offset of the result; null when the first bytes do not reveal it. */
export function resultStart(head: Buffer): number | null {
  return beforeResult.exec(head.toString('latin1', 0, envelopeBytes))?.[0].length ?? null
}

/**
 * End of the result, given the last bytes of a response. Quotes inside strings are escaped, so `,"id"` can only be a key, and
 * only the envelope's closing brace is separated from the end by nothing but envelope fields.
 */
export function resultEnd(tail: Buffer): number | null {
  const from = Math.max(0, tail.length - envelopeBytes)
  const found = afterResult.exec(tail.toString('latin1', from))
  return found ? from + found.index : null
}

/** Closing byte of objects, arrays and strings by their opening byte. */
const closing = new Map([
  [0x7b, 0x7d],
  [0x5b, 0x5d],
  [0x22, 0x22],
])

/**
 * The JSON of the result within a whole response. An unknown field after the result that ends with the same byte would be
 * included, which is harmless within our own envelope.
 */
function cutResult(answer: Buffer): Buffer | null {
  const start = resultStart(answer)
  const end = resultEnd(answer)
  if (start === null || end === null || end <= start) return null
  const result = answer.subarray(start, end)
  const closes = closing.get(result[0] ?? 0)
  const isComplete =
    closes === undefined
      ? literal.test(result.toString('latin1', 0, envelopeBytes))
      : result.length > 1 && result.at(-1) === closes
  return isComplete ? result : null
}

export type NodeResponse = { result: Buffer } | { error: RpcError }

/** @throws Error when it is not a JSON-RPC response */
export function readResponse(answer: Buffer): NodeResponse {
  const cut = cutResult(answer)
  if (cut) return { result: cut }
  const parsed: unknown = JSON.parse(answer.toString())
  if (typeof parsed !== 'object' || parsed === null) throw new Error('not a JSON-RPC response')
  if ('error' in parsed && parsed.error) return { error: toRpcError(parsed.error) }
  if ('result' in parsed) return { result: Buffer.from(JSON.stringify(parsed.result)) }
  throw new Error('not a JSON-RPC response')
}

function toRpcError(given: unknown): RpcError {
  const { code, message, data } = (typeof given === 'object' ? given : { message: given }) as Partial<RpcError>
  return {
    code: typeof code === 'number' ? code : -32603,
    message: typeof message === 'string' ? message : 'The node returned an error',
    ...(data === undefined ? {} : { data }),
  }
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]

/** The elements of a JSON array as views of the same memory; null when it is not an array. */
export function splitArray(json: Buffer): Buffer[] | null {
  const members: Buffer[] = []
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
        if (members.length > 0 || !isBlank(last)) members.push(last)
        return members
      }
    } else if (byte === comma && depth === 1) {
      members.push(json.subarray(from, i))
      from = i + 1
    }
  }
  return null
}

/** Index of the closing quote. `indexOf` runs at memory speed, and most of a block is long hexadecimal strings. */
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
