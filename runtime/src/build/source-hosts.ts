import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Matches files that configure the data source of an SDK processor. */
const configures = /\.set(?:Gateway|Portal|DataSource|RpcEndpoint)\s*\(/
const quotedAddress = /(['"`])((?:https?|wss?):\/\/[^'"`\s]+)\1/g
const isSource = /\.[cm]?[jt]s$/
const excludedFolders = /(?:^|\/)(?:node_modules|lib|dist|builds|\.git)(?:\/|$)/
const maxFiles = 500
const maxBytes = 300_000
const maxHosts = 10

/** Hosts with ports in the source files that configure a processor's data source. A heuristic, for display only. */
export async function findSourceHosts(root: string): Promise<string[]> {
  const paths = await readdir(root, { recursive: true })
  const sources = paths.filter((path) => isSource.test(path) && !excludedFolders.test(path)).slice(0, maxFiles)
  const hosts = new Set<string>()
  for (const path of sources) for (const host of await hostsIn(join(root, path))) hosts.add(host)
  return [...hosts].slice(0, maxHosts)
}

async function hostsIn(path: string): Promise<string[]> {
  const info = await stat(path).catch(() => null)
  if (!info?.isFile() || info.size > maxBytes) return []
  const text = await readFile(path, 'utf8')
  if (!configures.test(text)) return []
  return [...text.matchAll(quotedAddress)].flatMap(([, , url]) =>
    url !== undefined && URL.canParse(url) ? [new URL(url).host] : [],
  )
}
