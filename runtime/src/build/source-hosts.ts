/** Matches files that configure the data source of an SDK processor. */
const CONFIGURES_SOURCE = /\.set(?:Gateway|Portal|DataSource|RpcEndpoint)\s*\(/
const QUOTED_URL = /(['"`])((?:https?|wss?):\/\/[^'"`\s]+)\1/g
const SOURCE_FILE = /\.[cm]?[jt]s$/
const EXCLUDED_FOLDERS = /(?:^|\/)(?:node_modules|lib|dist|builds|\.git)(?:\/|$)/
const maxFiles = 500
const maxBytes = 300_000
const maxHosts = 10

/** Collects the hosts, with ports, of URLs in source files that configure a processor's data source. A heuristic, for display only. */
export class SourceHosts {
  readonly #hosts = new Set<string>()
  #files = 0

  get hosts(): string[] {
    return [...this.#hosts].slice(0, maxHosts)
  }

  /** Returns two functions, to call for each chunk of the file and at its end; null if the file is not searched. */
  open(path: string, bytes: number): { add: (chunk: Buffer) => void; close: () => void } | null {
    if (!SOURCE_FILE.test(path) || EXCLUDED_FOLDERS.test(path) || bytes > maxBytes || this.#files >= maxFiles)
      return null
    this.#files += 1
    const chunks: Buffer[] = []
    return {
      add: (chunk) => void chunks.push(chunk),
      close: () => {
        for (const host of hostsIn(Buffer.concat(chunks).toString('utf8'))) this.#hosts.add(host)
      },
    }
  }
}

function hostsIn(text: string): string[] {
  if (!CONFIGURES_SOURCE.test(text)) return []
  return [...text.matchAll(QUOTED_URL)].flatMap(([, , url]) =>
    url !== undefined && URL.canParse(url) ? [new URL(url).host] : [],
  )
}
