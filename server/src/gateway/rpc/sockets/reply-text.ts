import { codes, errorText, resultHead, type RpcOutcome } from '../json-rpc.ts'
import type { SocketLimits } from './limits.ts'

/** The response to the call with this id. */
export type RpcReply = { id: string; text: string }

/** Returns one WebSocket message with the responses. */
export const joinReplies = (replies: readonly RpcReply[], isBatch: boolean): string => {
  const texts = replies.map(({ text }) => text).join()
  return isBatch ? `[${texts}]` : texts
}

/** Resolves with the response to one call; with an error response when the result exceeds `unsentBytes`. Never rejects. */
export async function replyText(id: string, outcome: RpcOutcome, { unsentBytes }: SocketLimits): Promise<string> {
  if (outcome.kind === 'error') return errorText(id, outcome.error)
  if (outcome.kind === 'result') return `${resultHead(id)}${outcome.json.toString()}}`
  const parts: Uint8Array[] = []
  let length = 0
  try {
    for await (const part of outcome.chunks) {
      parts.push(part)
      length += part.length
      if (length > unsentBytes) {
        const message = `The response is larger than ${unsentBytes / 1_048_576} MB. Request less, or use HTTP.`
        return errorText(id, { code: codes.limitExceeded, message })
      }
    }
  } catch {
    return errorText(id, { code: codes.unavailable, message: 'The node stopped in the middle of its response.' })
  }
  return `${resultHead(id)}${Buffer.concat(parts).toString()}}`
}

/** Returns an error for every response, because the client has not read enough of the earlier ones. */
export function oversizedReplies(
  replies: readonly RpcReply[],
  isBatch: boolean,
  { unsentBytes }: SocketLimits,
): string {
  const message = `This response and earlier unread ones exceed ${unsentBytes / 1_048_576} MB. Request less at a time, or use HTTP.`
  const error = { code: codes.limitExceeded, message }
  const errors = replies.map(({ id }) => ({ id, text: errorText(id, error) }))
  return joinReplies(errors, isBatch)
}

/** Maximum length of the reason in a closing frame. */
const maxReasonBytes = 123

/** Truncates a reason so that it fits into a closing frame, without splitting a character. */
export function truncateReason(reason: string): string {
  let text = reason
  while (Buffer.byteLength(text) > maxReasonBytes) text = text.slice(0, -1)
  return text
}
