import { cpSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from '../../root.ts'

/** A copy of the example squid as a user would have it: sources and lockfile. */
export function copyExample(): string {
  const copy = join(mkdtempSync(join(tmpdir(), 'squid-')), 'erc20-transfers')
  const isSource = (path: string) => !/\/(node_modules|lib|builds)(\/|$)/.test(path)
  cpSync(join(root, 'examples/erc20-transfers'), copy, { recursive: true, filter: isSource })
  return copy
}

export const countQuery = '{ transfersConnection(orderBy: id_ASC) { totalCount } }'

/** Asks the squid 20 times a second until it has counted all transfers; answers when that was, by `performance.now()`. */
export async function answeredAt(endpoint: string, transfers: number, minutes = 5): Promise<number> {
  const deadline = performance.now() + minutes * 60_000
  while (performance.now() < deadline) {
    if ((await countOf(endpoint)) === transfers) return performance.now()
    await delay(50)
  }
  throw new Error(`${endpoint} did not count ${transfers} transfers within ${minutes} minutes`)
}

async function countOf(endpoint: string): Promise<number | null> {
  try {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(endpoint, { method: 'POST', headers, body: JSON.stringify({ query: countQuery }) })
    const answer = (await response.json()) as { data?: { transfersConnection?: { totalCount: number } } }
    return answer.data?.transfersConnection?.totalCount ?? null
  } catch {
    return null
  }
}
