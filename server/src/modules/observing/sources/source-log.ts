/** An error of a data source in a processor's log. `url` is unredacted and may contain keys: never show it. */
export type SourceTrouble = { url: string | null; fault: string }

/** Descriptions of the errors of the SDK's clients and of Node. */
const faults: [RegExp, string][] = [
  [/ENOTFOUND|EAI_AGAIN/, 'its name cannot be resolved'],
  [/ECONNREFUSED/, 'it refuses connections'],
  [/EHOSTUNREACH|ENETUNREACH/, 'it cannot be reached'],
  [/ECONNRESET|EPIPE|socket hang up/, 'it breaks connections off'],
  [/CERT_|certificate/i, 'its certificate is not accepted'],
  [/timed? ?out|ETIMEDOUT/i, 'it does not answer in time'],
  [/\bgot 429\b/, 'it answers that there are too many requests'],
  [/\bgot 5\d\d\b/, 'it answers with an error of its own'],
]
const address = /\b(?:https?|wss?):\/\/[^\s"'<>]+/

/** Whether a program on the SDK wrote the line. Such a program serves metrics only once its data source has responded. */
export const isSdkLine = (line: string): boolean => line.includes('"ns":"sqd:')

/** The last error of a data source in these lines of the SDK, at `sinceMs` or later; null if there is none. */
export function troubleIn(lines: readonly string[], sinceMs: number): SourceTrouble | null {
  for (const line of lines.toReversed()) {
    const trouble = troubleOf(line, sinceMs)
    if (trouble) return trouble
  }
  return null
}

function troubleOf(line: string, sinceMs: number): SourceTrouble | null {
  const entry = entryOf(line)
  if (!entry || (typeof entry['time'] === 'number' && entry['time'] < sinceMs)) return null
  const text = [entry['reason'], entry['code'], Object(entry['err']).message, Object(entry['err']).stack].join(' ')
  const fault = faults.find(([pattern]) => pattern.test(text))?.[1]
  if (!fault) return null
  const urls = [entry['rpcUrl'], entry['httpRequestUrl'], entry['url'], address.exec(text)?.[0]]
  return { url: urls.find((url) => typeof url === 'string') ?? null, fault }
}

function entryOf(line: string): Record<string, unknown> | null {
  try {
    const entry: unknown = JSON.parse(line)
    return typeof entry === 'object' && entry !== null ? (entry as Record<string, unknown>) : null
  } catch {
    return null
  }
}

const ownGateway = /\/rpc\/([a-z0-9-]{1,64})\/shoal_rpc_/

/** The displayable part of a data source's URL: its host, or the chain if it is a URL of our gateway. Null for any other text. */
export function sourceName(url: string): string | null {
  const chain = ownGateway.exec(url)?.[1]
  if (chain) return `the RPC gateway (chain ${chain})`
  if (!URL.canParse(url)) return null
  const { protocol, host } = new URL(url)
  return /^(?:https?|wss?):$/.test(protocol) && host !== '' ? host : null
}

const maxNamed = 5

/** A sentence with the source that does not respond and how that is known. `named`: hosts found in the processor's code and environment. */
export function sourceSentence(trouble: SourceTrouble | null, named: readonly string[]): string {
  const host = trouble?.url ? sourceName(trouble.url) : null
  if (trouble && host) return `Its log says of ${host}: ${trouble.fault}.`
  const logSentence = trouble
    ? `Its log says of its data source: ${trouble.fault}.`
    : 'Its log does not say what it waits for.'
  if (named.length === 0) return `${logSentence} Neither its code nor its environment names an address.`
  return `${logSentence} Its code and environment name ${named.slice(0, maxNamed).join(', ')}.`
}
