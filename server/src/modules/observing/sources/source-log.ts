import { chainOfRpcUrl } from '../../rpc/index.ts'

/** An error of a data source in a processor's log. `url` is unredacted and may contain keys: never show it. */
export type SourceError = { url: string | null; problem: string }

/** Patterns of errors of the SDK's clients and of Node, with their descriptions. */
const problems: [RegExp, string][] = [
  [/ENOTFOUND|EAI_AGAIN/, 'its name cannot be resolved'],
  [/ECONNREFUSED/, 'it refuses connections'],
  [/EHOSTUNREACH|ENETUNREACH/, 'it cannot be reached'],
  [/ECONNRESET|EPIPE|socket hang up/, 'it closes connections early'],
  [/CERT_|certificate/i, 'its certificate is not accepted'],
  [/timed? ?out|ETIMEDOUT/i, 'it does not respond in time'],
  [/\bgot 429\b/, 'it responds that there are too many requests'],
  [/\bgot 5\d\d\b/, 'it responds with a server error'],
]
const address = /\b(?:https?|wss?):\/\/[^\s"'<>]+/

/** Whether a program that uses the SDK wrote the line. Such a program serves metrics only once its data source has responded. */
export const isSdkLine = (line: string): boolean => line.includes('"ns":"sqd:')

/** Returns the last error of a data source in these lines of the SDK, at `sinceMs` or later; null if there is none. */
export function lastSourceError(lines: readonly string[], sinceMs: number): SourceError | null {
  for (const line of lines.toReversed()) {
    const error = sourceErrorOf(line, sinceMs)
    if (error) return error
  }
  return null
}

function sourceErrorOf(line: string, sinceMs: number): SourceError | null {
  const entry = entryOf(line)
  if (!entry || (typeof entry['time'] === 'number' && entry['time'] < sinceMs)) return null
  const text = [entry['reason'], entry['code'], Object(entry['err']).message, Object(entry['err']).stack].join(' ')
  const problem = problems.find(([pattern]) => pattern.test(text))?.[1]
  if (!problem) return null
  const urls = [entry['rpcUrl'], entry['httpRequestUrl'], entry['url'], address.exec(text)?.[0]]
  return { url: urls.find((url) => typeof url === 'string') ?? null, problem }
}

function entryOf(line: string): Record<string, unknown> | null {
  try {
    const entry: unknown = JSON.parse(line)
    return typeof entry === 'object' && entry !== null ? (entry as Record<string, unknown>) : null
  } catch {
    return null
  }
}

/** Returns the displayable part of a data source's URL: its host, or the chain for a URL of Shoal's gateway. Null for other text. */
export function sourceName(url: string): string | null {
  const chain = chainOfRpcUrl(url)
  if (chain) return `the RPC gateway (chain ${chain})`
  if (!URL.canParse(url)) return null
  const { protocol, host } = new URL(url)
  return /^(?:https?|wss?):$/.test(protocol) && host !== '' ? host : null
}

const maxHosts = 5

/** Describes the source that does not respond, for users. `hosts`: the hosts found in the processor's code and environment. */
export function sourceSentence(error: SourceError | null, hosts: readonly string[]): string {
  const host = error?.url ? sourceName(error.url) : null
  if (error && host) return `Its log reports for ${host}: ${error.problem}.`
  const logSentence = error
    ? `Its log reports for its data source: ${error.problem}.`
    : 'Its log does not say what it waits for.'
  if (hosts.length === 0) return `${logSentence} Neither its code nor its environment names an address.`
  return `${logSentence} Its code and environment name ${hosts.slice(0, maxHosts).join(', ')}.`
}
