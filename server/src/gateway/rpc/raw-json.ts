import type { RpcError } from './json-rpc.ts'

/**
 * Cuts answers of nodes without parsing them: a block can be megabytes, and what it says is the caller's business.
 * Each function answers null for what it cannot cut, and the caller parses then.
 */

const field = /"(?:jsonrpc|id)"\s*:\s*(?:"[^"\\]*"|-?\d+|null)/.source
const beforeResult = new RegExp(`^\\s*\\{\\s*(?:${field}\\s*,\\s*)*"result"\\s*:\\s*`)
const afterResult = new RegExp(`\\s*(?:,\\s*${field}\\s*)*\\}\\s*$`)
/** Longer than any envelope that nodes write around a result. */
export const envelopeBytes = 128
/** Not `null,"error":…`, as some nodes write it. */
const literal = /^(?:null|true|false|-?\d[\d.eE+-]*)$/

/** Where the result begins; null when the first bytes do not tell. */
export function resultStart(head: Buffer): number | null {
  return beforeResult.exec(head.toString('latin1', 0, envelopeBytes))?.[0].length ?? null
}

/**
 * Where the result ends, given the last bytes of an answer. Quotes inside of strings are escaped, so an `,"id"` can only be a
 * key; and only the envelope's own closing brace has nothing but other envelope fields between it and the end.
 */
export function resultEnd(tail: Buffer): number | null {
  const from = Math.max(0, tail.length - envelopeBytes)
  const found = afterResult.exec(tail.toString('latin1', from))
  return found ? from + found.index : null
}

/** What a value ends with, by the byte it begins with: objects, arrays and texts. */
const closing = new Map([
  [0x7b, 0x7d],
  [0x5b, 0x5d],
  [0x22, 0x22],
])

/**
 * The JSON of the result within a whole answer. A field unknown to us behind the result that closes like it would come along;
 * within our own envelope it does no harm there.
 */
function cutResult(answer: Buffer): Buffer | null {
  const start = resultStart(answer)
  const end = resultEnd(answer)
  if (start === null || end === null || end <= start) return null
  const result = answer.subarray(start, end)
  const closes = closing.get(result[0] ?? 0)
  const doesClose =
    closes === undefined
      ? literal.test(result.toString('latin1', 0, envelopeBytes))
      : result.length > 1 && result.at(-1) === closes
  return doesClose ? result : null
}

export type NodeAnswer = { result: Buffer } | { error: RpcError }

/** @throws Error when it is no JSON-RPC answer */
export function readAnswer(answer: Buffer): NodeAnswer {
  const cut = cutResult(answer)
  if (cut) return { result: cut }
  const parsed: unknown = JSON.parse(answer.toString())
  if (typeof parsed !== 'object' || parsed === null) throw new Error('not a JSON-RPC answer')
  if ('error' in parsed && parsed.error) return { error: toRpcError(parsed.error) }
  if ('result' in parsed) return { result: Buffer.from(JSON.stringify(parsed.result)) }
  throw new Error('not a JSON-RPC answer')
}

function toRpcError(given: unknown): RpcError {
  const { code, message, data } = (typeof given === 'object' ? given : { message: given }) as Partial<RpcError>
  return {
    code: typeof code === 'number' ? code : -32603,
    message: typeof message === 'string' ? message : 'The node answered with an error',
    ...(data === undefined ? {} : { data }),
  }
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]

/** The members of a JSON array, each a part of the same memory; null when it is no array. */
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

/** Of the closing quote. `indexOf` runs at memory speed, and most of a block is long hexadecimal strings. */
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
