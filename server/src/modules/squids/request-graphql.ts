import { Refusal } from '../../errors.ts'

const maxMs = 60_000
const maxBytes = 10_000_000

/**
 * One question to a squid's public address, through the gateway as everybody's: with its limits, counted as a request, and
 * without anything of the caller's.
 * @throws Refusal 502 when what comes back is no GraphQL answer
 */
export async function requestGraphql(
  url: string,
  question: object,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(question),
    // A squid could lead us to an address that only this machine can reach.
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(maxMs)]),
  }).catch(() => null)
  if (!answer) throw new Refusal(502, 'SQUID_NOT_ANSWERING', 'The squid does not answer.')
  const text = await limitedText(answer)
  const parsed = parsedObject(text)
  if (!parsed) throw new Refusal(502, 'SQUID_NOT_ANSWERING', `The squid answered ${answer.status} without JSON.`)
  return parsed
}

async function limitedText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += (chunk as Uint8Array).length
    if (bytes > maxBytes) throw new Refusal(502, 'ANSWER_TOO_LARGE', 'The answer is larger than 10 MB.')
    chunks.push(chunk as Uint8Array)
  }
  return Buffer.concat(chunks).toString()
}

function parsedObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}
