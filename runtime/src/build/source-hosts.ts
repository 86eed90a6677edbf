import { readFile } from 'node:fs/promises'
import { type TreeEntry, walk } from './tree.ts'

/** Matches files that configure the data source of an SDK processor. */
const configuresSource = /\.set(?:Gateway|Portal|DataSource|RpcEndpoint)\s*\(/
const quotedAddress = /(['"`])((?:https?|wss?):\/\/[^'"`\s]+)\1/g
const isSource = /\.[cm]?[jt]s$/
const excludedFolders = /(?:^|\/)(?:node_modules|lib|dist|builds|\.git)(?:\/|$)/
const maxFiles = 500
const maxBytes = 300_000
const maxHosts = 10

/** Returns the hosts, with ports, of URLs in source files that configure a processor's data source. A heuristic, for display only. */
export async function findSourceHosts(root: string): Promise<string[]> {
  const hosts = new Set<string>()
  let files = 0
  for await (const entry of walk(root)) {
    if (!isSource.test(entry.path) || excludedFolders.test(entry.path)) continue
    files += 1
    if (files > maxFiles) break
    for (const host of await hostsIn(entry)) hosts.add(host)
  }
  return [...hosts].slice(0, maxHosts)
}

async function hostsIn({ absolute, stats }: TreeEntry): Promise<string[]> {
  if (!stats.isFile() || stats.size > maxBytes) return []
  const text = await readFile(absolute, 'utf8')
  if (!configuresSource.test(text)) return []
  return [...text.matchAll(quotedAddress)].flatMap(([, , url]) =>
    url !== undefined && URL.canParse(url) ? [new URL(url).host] : [],
  )
}
