import { appendFileSync, cpSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from '../../root.ts'

/** Copies the example squid, without installed and generated files. Returns the folder. */
export function copyExample(): string {
  const copy = join(mkdtempSync(join(tmpdir(), 'squid-')), 'erc20-transfers')
  const isSource = (path: string) => !/\/(node_modules|lib|builds)(\/|$)/.test(path)
  cpSync(join(root, 'examples/erc20-transfers'), copy, { recursive: true, filter: isSource })
  return copy
}

/** A typical query of a dApp: the newest entities with their fields. */
export const newestQuery =
  '{ transfers(limit: 20, orderBy: id_DESC) { id block timestamp contract from to value txHash } }'

export const countQuery = '{ transfersConnection(orderBy: id_ASC) { totalCount } }'

/** Gives the squid large profiles, so that the benchmark does not measure the limits of a profile. */
export function makeLarge(squid: string): void {
  const scale = '\nscale:\n  dedicated: true\n  api:\n    profile: large\n  processor:\n    profile: large\n'
  appendFileSync(join(squid, 'squid.yaml'), scale)
}

/** Polls the squid 20 times a second until it has indexed all transfers. Returns the time in milliseconds, as `performance.now()`. @throws after `minutes` */
export async function readyAtMs(endpoint: string, transfers: number, minutes = 5): Promise<number> {
  const deadline = performance.now() + minutes * 60_000
  while (performance.now() < deadline) {
    if ((await countOf(endpoint)) === transfers) return performance.now()
    await delay(50)
  }
  throw new Error(`${endpoint} has not indexed ${transfers} transfers within ${minutes} minutes`)
}

async function countOf(endpoint: string): Promise<number | null> {
  try {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(endpoint, { method: 'POST', headers, body: JSON.stringify({ query: countQuery }) })
    const result = (await response.json()) as { data?: { transfersConnection?: { totalCount: number } } }
    return result.data?.transfersConnection?.totalCount ?? null
  } catch {
    return null
  }
}
