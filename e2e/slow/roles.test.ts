import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { contract, createClient, type Client, type Contract } from '@shoal/contract'
import { Client as Postgres } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startNginx, type Nginx } from '../../scripts/nginx.ts'
import { makeCountingSquid } from '../support/counting-squid.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { printFaults, reportFault } from '../support/fault-report.ts'
import { startLoad, type Load } from '../support/load.ts'
import { addOrg } from '../support/org.ts'
import { startInstallation, type Installation, type Role } from '../support/role-processes.ts'
import { processesIn } from '../support/shoal.ts'
import { isFull } from '../support/tier.ts'
import { until } from '../support/until.ts'

const org = 'acme-labs'
const connections = 8

type Case = { role: Role; index: number; operation: 'update' | 'restart' | 'rollback' }

/** Two processes of each role. The apis and gateways are behind nginx. Any process may end or be killed at any time. */
describe('two processes of each role', () => {
  let installation: Installation
  let apiBalancer: Nginx
  let gatewayBalancer: Nginx
  let api: Client<Contract>
  let token: string
  let project: string
  let load: Load

  beforeAll(async () => {
    installation = await startInstallation({ api: 2, worker: 2, gateway: 2 })
    const servers = (role: 'api' | 'gateway') => installation.withRole(role).map(({ port }) => `127.0.0.1:${port}`)
    apiBalancer = await startNginx({ servers: servers('api'), keepAlive: 32 })
    gatewayBalancer = await startNginx({ servers: servers('gateway'), keepAlive: 32 })
    ;({ token, api } = await addOrg({ cli: installation.cli, as: (token) => clientOf(apiBalancer.url, token) }, org))
    project = makeCountingSquid()
    const first = await waitForEnd(await deployCounting())
    expect(first).toMatchObject({ status: 'OK', failed: 'NO' })
    load = startLoad(`${gatewayBalancer.url}/${org}/counting@v1/api/graphql`, connections)
  })

  afterAll(async () => {
    printFaults('during', 'successful requests', 'failed requests')
    await load?.stop()
    await api?.squids.delete({ params: { code: org, reference: 'counting@v1' } }).catch(() => undefined)
    await apiBalancer?.stop()
    await gatewayBalancer?.stop()
    await installation?.end()
    if (project) rmSync(dirname(project), { recursive: true, force: true })
  })

  const clientOf = (url: string, token: string) => createClient(contract, { baseUrl: `${url}/api`, token: () => token })
  const deployCounting = () =>
    deploy({ api, org, token, project, shoal: { url: apiBalancer.url } }, { slot: 'v1', name: 'counting' })
  const waitForEnd = (id: number) => waitForDeployment({ api, org }, id, 120_000)
  const squid = { code: org, reference: 'counting@v1' }

  /** Actions of a user on a version. Each creates a deployment, and returns its id. */
  const operations = {
    update: deployCounting,
    restart: async () => (await api.squids.restart({ params: squid })).id,
    rollback: async () => {
      const deployments = await api.deployments.list({ params: { code: org }, query: {} })
      const earlier = deployments.findLast(({ image }) => image !== null)
      return (await api.squids.rollback({ params: squid, body: { deploymentId: earlier?.id ?? 0 } })).id
    },
  }

  /** Starts the operation, ends the process during the operation, waits until the operation has ended, and starts the process again. */
  async function endDuring({ role, index, operation }: Case, signal: 'SIGTERM' | 'SIGKILL') {
    const process = installation.withRole(role)[index]
    if (!process) throw new Error(`The installation has no ${role} ${index}`)
    await untilBothGatewaysServe()
    const [failuresBefore, successesBefore] = [load.failures().length, load.successes()]
    const id = await operations[operation]()
    const code = await process.end(signal)
    const deployment = await waitForEnd(id)
    await process.start()
    const failures = load.failures().slice(failuresBefore)
    const numbers = [load.successes() - successesBefore, failures.length].map((number) => number.toLocaleString('en'))
    reportFault(`${signal} to ${role} ${index}`, operation, ...numbers)
    return { code, deployment, failures, port: process.port }
  }

  /** Waits until both gateways serve requests, because nginx uses a failed server again only after at least a second. */
  async function untilBothGatewaysServe() {
    const counts = () => installation.withRole('gateway').map(({ port }) => load.successesOf(`127.0.0.1:${port}`))
    const before = counts()
    await until(() => counts().every((count, index) => count > (before[index] ?? 0)), 'both gateways serve requests')
  }

  // Each of the six processes is ended once with one of the signals; in the full run, once with each.
  const operationNames = ['update', 'restart', 'rollback'] as const
  const cases: Case[] = (['worker', 'gateway', 'api'] as const).flatMap((role, roleIndex) =>
    [0, 1].map((index) => ({ role, index, operation: operationNames[(roleIndex * 2 + index) % 3] ?? 'update' })),
  )
  const terminated = cases.filter(({ index }) => isFull || index === 0)
  const killed = cases.filter(({ index }) => isFull || index === 1)

  test.each(terminated)('no request fails when $role $index receives SIGTERM during $operation', async (testCase) => {
    const { code, deployment, failures } = await endDuring(testCase, 'SIGTERM')
    expect(code).toBe(0)
    expect(deployment).toMatchObject({ status: 'OK', failed: 'NO' })
    expect(failures).toEqual([])
  })

  test.each(killed)(
    'when $role $index is killed during $operation, at most the requests that it was serving fail',
    async (testCase) => {
      const { deployment, failures, port } = await endDuring(testCase, 'SIGKILL')
      expect(deployment).toMatchObject({ status: 'OK', failed: 'NO' })
      if (testCase.role === 'gateway') {
        expect(failures.length).toBeLessThanOrEqual(connections)
        expect(failures.filter(({ servers }) => !servers.includes(`:${port}`))).toEqual([])
      } else expect(failures).toEqual([])
    },
  )

  test('no two processors ran at the same time', async () => {
    const rows = await starts()
    expect(rows.length).toBeGreaterThan(terminated.length + killed.length)
    expect(rows.filter(({ was_alone }) => !was_alone)).toEqual([])
    expect(processesIn(installation.dataDir).filter((line) => line.includes('processor.js')).length).toBe(1)
  })

  test('each api returns all lines that the processors wrote', async () => {
    for (const { port } of installation.withRole('api')) {
      const lines = await allLines(clientOf(`http://127.0.0.1:${port}`, token))
      const runs = new Map<number, number[]>()
      for (const line of lines) {
        const [, run, block] = /^run (\d+) line (\d+)$/.exec(line) ?? []
        if (run && block) runs.set(Number(run), [...(runs.get(Number(run)) ?? []), Number(block)])
      }
      expect([...runs.keys()].length).toBe((await starts()).length)
      for (const [run, blocks] of runs) {
        expect(
          blocks.findIndex((block, index) => block !== index),
          `run ${run}`,
        ).toBe(-1)
      }
    }
  })

  test('the squid served many requests', () => expect(load.successes()).toBeGreaterThan(1000))

  /** Returns a row for each run of the processor, oldest first. */
  async function starts(): Promise<{ was_alone: boolean }[]> {
    const client = new Postgres({ connectionString: installation.postgres.url(await squidDatabase()) })
    await client.connect()
    try {
      return (await client.query<{ was_alone: boolean }>('select was_alone from starts order by id')).rows
    } finally {
      await client.end()
    }
  }

  /** Returns the name of the squid's database. */
  async function squidDatabase(): Promise<string> {
    const client = new Postgres({ connectionString: installation.postgres.url('postgres') })
    await client.connect()
    try {
      const otherDatabases = ['postgres', 'template0', 'template1', 'shoal']
      const { rows } = await client.query<{ datname: string }>(
        'select datname from pg_database where not datname = any($1)',
        [otherDatabases],
      )
      return rows[0]?.datname ?? ''
    } finally {
      await client.end()
    }
  }

  /** Returns all log lines of the processor, oldest first. */
  async function allLines(from: Client<Contract>): Promise<string[]> {
    const lines: string[] = []
    let nextPage: string | undefined
    const to = new Date().toISOString()
    do {
      const page = await from.logs.history({
        params: squid,
        query: { container: ['processor'], limit: '10000', orderBy: 'asc', to, ...(nextPage && { nextPage }) },
      })
      lines.push(...page.logs.map(({ payload }) => String(payload)))
      nextPage = page.nextPage ?? undefined
    } while (nextPage)
    return lines
  }
})
