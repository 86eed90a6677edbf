import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDay, type Day } from './support/day.ts'
import { deploy, ended } from './support/deploy.ts'
import { totalTransfers } from './support/squid.ts'
import { until } from './support/until.ts'

/** The example squid on a real chain: how its programs, which `sqd` starts, run and end, and how Shoal reports it. */
describe('the programs of a squid', () => {
  let day: Day

  beforeAll(async () => {
    day = await startDay()
    await day.api.secrets.change({
      params: { code: day.org },
      body: { secrets: [{ action: 'UPDATE', name: 'RPC_URL', value: day.devnet.rpcUrl }] },
    })
    expect((await ended(day, await deploy(day, { slot: 'v1' }))).failureReason).toBeNull()
    await untilIndexed()
  }, 300_000)

  afterAll(() => day?.end())

  const untilIndexed = async () => {
    const transfers = await day.devnet.chain.countTransfers()
    const endpoint = day.endpointOf('erc20-transfers@v1')
    await until(async () => (await totalTransfers(endpoint)) === transfers, 'all transfers are indexed')
  }

  const processor = async () => {
    const reference = 'erc20-transfers@v1'
    const { processors } = await day.api.squids.get({ params: { code: day.org, reference } })
    return processors?.[0]
  }

  /** Pids of this server's programs whose command line matches. */
  const programs = (isMatch: (words: string[]) => boolean): number[] =>
    readdirSync('/proc')
      .map(Number)
      .filter((pid) => {
        const isOurs = partsOf(pid, 'environ').some((variable) => variable.includes(day.shoal.dataDir))
        return isOurs && isMatch(partsOf(pid, 'cmdline'))
      })

  test('the api exposes no file paths in errors and has BASE_PATH; introspection works', async () => {
    const endpoint = day.endpointOf('erc20-transfers@v1')
    const send = async (query: string) => {
      const body = JSON.stringify({ query })
      const response = await fetch(endpoint, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      return response.text()
    }
    const error = await send('{ nonsense }')
    expect(error).toContain('Cannot query field')
    expect(error).not.toMatch(/stacktrace|node_modules/)
    expect(error).not.toContain(day.shoal.dataDir)
    expect(await send('{ __schema { queryType { name } } }')).toContain('"Query"')
    const [api = 0] = programs((words) => words.some((word) => word.endsWith('squid-graphql-server')))
    const variables = partsOf(api, 'environ')
    expect(variables).toContain('NODE_ENV=production')
    expect(variables).toContain(`BASE_PATH=${new URL(endpoint).pathname.replace(/\/graphql$/, '')}`)
  })

  test('a killed processor is restarted, the restart is counted, and indexing continues', async () => {
    const isMain = (words: string[]) => words.join(' ') === 'node lib/main.js'
    const before = programs(isMain)
    expect(before).toHaveLength(1)
    for (const pid of before) process.kill(pid, 'SIGKILL')
    await until(async () => (await processor())?.restarts === 1, 'it is restarted')
    await day.devnet.chain.transfer(3)
    await untilIndexed()
    await until(async () => (await processor())?.status === 'SYNCED', 'it is synced')
    expect((await processor())?.reason).toBeNull()
    expect(programs(isMain)).toHaveLength(1)
    expect(programs(isMain)).not.toEqual(before)
  }, 120_000)
})

/** Returns the arguments or variables of a process; empty if it has ended. */
function partsOf(pid: number, file: 'cmdline' | 'environ'): string[] {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0').filter(Boolean)
  } catch {
    return []
  }
}
