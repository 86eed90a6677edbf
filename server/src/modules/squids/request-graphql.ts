import { Refusal } from '../../errors.ts'

const maxMs = 60_000
const maxBytes = 2_000_000

/**
 * Sends one GraphQL query to a squid's public URL through the gateway, like any other client: the gateway's limits apply, the request
 * is counted, and no credentials of the caller are forwarded.
 * @throws Refusal 502 when the squid does not respond, responds with anything but a JSON object, or with more than 2 MB
 */
export async function requestGraphql(
  url: string,
  query: object,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(query),
    // A squid could redirect the server to an address that only this machine can reach.
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(maxMs)]),
  }).catch(() => null)
  if (!response) throw notResponding()
  const text = await readText(response)
  const parsed = parseObject(text)
  if (!parsed) throw new Refusal(502, 'SQUID_NOT_ANSWERING', `The squid returned ${response.status} without JSON.`)
  return parsed
}

const notResponding = () => new Refusal(502, 'SQUID_NOT_ANSWERING', 'The squid is not responding.')

async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of body ?? []) {
      bytes += (chunk as Uint8Array).length
      if (bytes > maxBytes) throw new Refusal(502, 'ANSWER_TOO_LARGE', 'The response of the squid is larger than 2 MB.')
      chunks.push(chunk as Uint8Array)
    }
  } catch (error) {
    // The connection broke, or the time ran out.
    throw error instanceof Refusal ? error : notResponding()
  }
  return Buffer.concat(chunks).toString()
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}
