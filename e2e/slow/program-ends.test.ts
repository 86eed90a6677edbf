import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestCloud, type TestCloud } from '../support/test-cloud.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { totalTransfers } from '../support/squid.ts'
import { until } from '../support/until.ts'

/** Tests how the programs of the example squid run and end, and what Shoal reports. `sqd` starts them. */
describe('the programs of a squid', () => {
  let cloud: TestCloud

  beforeAll(async () => {
    cloud = await startTestCloud()
    await cloud.setRpcUrl()
    expect((await waitForDeployment(cloud, await deploy(cloud, { slot: 'v1' }))).failureReason).toBeNull()
    await untilIndexed()
  })

  afterAll(() => cloud?.end())

  const untilIndexed = async () => {
    const transfers = await cloud.devnet.chain.countTransfers()
    const endpoint = cloud.endpointOf('erc20-transfers@v1')
    await until(async () => (await totalTransfers(endpoint)) === transfers, 'all transfers are indexed')
  }

  const processor = async () => {
    const reference = 'erc20-transfers@v1'
    const { processors } = await cloud.api.squids.get({ params: { code: cloud.org, reference } })
    return processors?.[0]
  }

  /** Returns the pids of this server's programs whose command line matches. */
  const programs = (isMatch: (words: string[]) => boolean): number[] =>
    readdirSync('/proc')
      .map(Number)
      .filter((pid) => {
        const isOurs = readProcList(pid, 'environ').some((variable) => variable.includes(cloud.shoal.dataDir))
        return isOurs && isMatch(readProcList(pid, 'cmdline'))
      })

  test('the api has the variable BASE_PATH, exposes no file paths in errors, and allows introspection', async () => {
    const endpoint = cloud.endpointOf('erc20-transfers@v1')
    const send = async (query: string) => {
      const body = JSON.stringify({ query })
      const response = await fetch(endpoint, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      return response.text()
    }
    const error = await send('{ nonsense }')
    expect(error).toContain('Cannot query field')
    expect(error).not.toMatch(/stacktrace|node_modules/)
    expect(error).not.toContain(cloud.shoal.dataDir)
    expect(await send('{ __schema { queryType { name } } }')).toContain('"Query"')
    const [api = 0] = programs((words) => words.some((word) => word.endsWith('squid-graphql-server')))
    const variables = readProcList(api, 'environ')
    expect(variables).toContain('NODE_ENV=production')
    expect(variables).toContain(`BASE_PATH=${new URL(endpoint).pathname.replace(/\/graphql$/, '')}`)
  })

  test('a killed processor is restarted, the restart is counted, and indexing continues', async () => {
    const isMain = (words: string[]) => words.join(' ') === 'node lib/main.js'
    const before = programs(isMain)
    expect(before).toHaveLength(1)
    for (const pid of before) process.kill(pid, 'SIGKILL')
    await until(async () => (await processor())?.restarts === 1, 'the processor is restarted')
    await cloud.devnet.chain.transfer(3)
    await untilIndexed()
    await until(async () => (await processor())?.status === 'SYNCED', 'the processor is synced')
    expect((await processor())?.reason).toBeNull()
    expect(programs(isMain)).toHaveLength(1)
    expect(programs(isMain)).not.toEqual(before)
  })
})

/** Returns the arguments (`cmdline`) or the environment variables (`environ`) of a process; an empty list if it has ended. */
function readProcList(pid: number, file: 'cmdline' | 'environ'): string[] {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0').filter(Boolean)
  } catch {
    return []
  }
}
