import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freezePostgres } from '../support/postgres.ts'
import { startRpcCloud, type RpcCloud } from '../support/rpc-cloud.ts'
import { until } from '../support/until.ts'

let cloud: RpcCloud
/** Resumes the processes that a test has frozen. */
let resume = () => {}
beforeAll(async () => {
  cloud = await startRpcCloud('dependencies and code')
})
afterAll(async () => {
  resume()
  await cloud?.end()
})

type PublicPage = {
  generatedAt: string
  status: string
  tags: { name: string; downMinutes: number; freshness: { blocks: number } | null }[]
}

const readPage = async () => (await (await fetch(`${cloud.shoal.url}/status/${cloud.org}.json`)).json()) as PublicPage

/** Returns the process ids of the squid's api. Only its processes have its path in their environment. */
function apiProcesses(): number[] {
  const isOfApi = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`BASE_PATH=/${cloud.org}/`)
    } catch {
      // The process has ended.
      return false
    }
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isOfApi(name))
    .map(Number)
}

test('a visitor sees how fresh a squid is, and the start and end of an outage of its api', async () => {
  const { api, org } = cloud
  await cloud.deployTo('v1')
  await api.squids.setTag({ params: { code: org, reference: 'erc20-transfers@v1', tag: 'prod' } })
  await api.statusPage.update({
    params: { code: org },
    body: {
      isEnabled: true,
      title: 'Transfers',
      slug: org,
      tags: [{ squid: 'erc20-transfers', tag: 'prod', name: 'Transfers API' }],
      alertKinds: [],
    },
  })
  await until(async () => {
    const { status, tags } = await readPage()
    return status === 'operational' && tags[0]?.freshness?.blocks === 0
  }, 'the page is operational and fresh')
  const stopped = apiProcesses()
  expect(stopped.length).toBeGreaterThan(0)
  resume = () => stopped.splice(0).forEach((pid) => process.kill(pid, 'SIGCONT'))
  for (const pid of stopped) process.kill(pid, 'SIGSTOP')
  await until(async () => {
    const { status, tags } = await readPage()
    return status === 'outage' && (tags[0]?.downMinutes ?? 0) > 0
  }, 'the page shows the outage')
  resume()
  await until(async () => (await readPage()).status === 'operational', 'the page is operational again')
})

test('while the Postgres of squids does not respond, Shoal continues to update the page', async () => {
  const before = Date.parse((await readPage()).generatedAt)
  resume = freezePostgres(cloud.shoal.dataDir, 'postgres-squids')
  await until(async () => Date.parse((await readPage()).generatedAt) > before, 'the page is rendered again')
  const html = await fetch(`${cloud.shoal.url}/status/${cloud.org}`)
  expect([html.status, await html.text()]).toEqual([200, expect.stringContaining('Transfers API')])
  resume()
})
