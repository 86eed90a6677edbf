import { contract, createClient, type LogEntry } from '@shoal/contract'
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deploySimulated, type Deployer } from '../support/simulated-squid.ts'
import { startProcess, type ServerProcess } from '../support/server-process.ts'
import { freePort } from '../support/free-port.ts'
import { cliOf, stopPostgresOf, makeReadyDataDir } from '../support/shoal.ts'
import { until } from '../support/until.ts'

const restarts = 3
const org = 'acme-labs'
const dataDir = makeReadyDataDir()
const servers: ServerProcess[] = []
let token: string

async function start(env: Record<string, string>): Promise<ServerProcess> {
  const server = await startProcess({ SHOAL_DATA_DIR: dataDir, SHOAL_ON_EXIT: 'keep', ...env })
  servers.push(server)
  await server.ready()
  return server
}
const startApi = (port: string) => start({ SHOAL_ROLES: 'api', SHOAL_PORT: port, SHOAL_DRAIN_SECONDS: '120' })

beforeAll(async () => {
  await start({ SHOAL_ROLES: 'worker,gateway' })
  const cli = cliOf(dataDir)
  const email = 'mira@acme-labs.dev'
  await cli('user', 'add', '--email', email, '--name', 'Mira')
  await cli('org', 'add', '--code', org, '--name', 'Acme Labs', '--email', email)
  await cli('org', 'set-status', '--code', org, '--status', 'ACTIVE')
  token = (await cli<{ token: string }>('token', 'add', '--email', email, '--name', 'laptop')).token
})

afterAll(async () => {
  for (const server of servers) server.signal('SIGKILL')
  await Promise.all(servers.map(({ ended }) => ended))
  await stopPostgresOf(dataDir)
  rmSync(dataDir, { recursive: true, force: true })
})

type Follower = {
  entries: LogEntry[]
  /** Resolves when the server ends the stream; rejects when the connection is cut. */
  ended: Promise<'cleanly'>
}

/** Follows the processor's log after the entry `after`; by default after the newest entry. */
async function follow({ url }: ServerProcess, after?: string): Promise<Follower> {
  const query = new URLSearchParams({ container: 'processor', ...(after && { after }) })
  const address = `${url}/api/v1/orgs/${org}/squids/talker@v1/logs/follow?${query.toString()}`
  const response = await fetch(address, { headers: { authorization: `token ${token}` } })
  if (!response.ok || !response.body) throw new Error(`follow returned ${response.status}: ${await response.text()}`)
  const entries: LogEntry[] = []
  const read = async (lines: ReadableStream<string>) => {
    let partialLine = ''
    for await (const text of lines) {
      const parts = (partialLine + text).split('\n')
      partialLine = parts.pop() ?? ''
      for (const line of parts) if (line !== '') entries.push(...(JSON.parse(line) as LogEntry[]))
    }
    expect(partialLine).toBe('')
    return 'cleanly' as const
  }
  const ended = read(response.body.pipeThrough(new TextDecoderStream()))
  ended.catch(() => undefined)
  return { entries, ended }
}

test('SIGTERM ends a log stream cleanly, and a client that reconnects to another server misses no line', async () => {
  let [stopping, remaining] = await Promise.all([
    startApi(String(await freePort())),
    startApi(String(await freePort())),
  ])
  const api = createClient(contract, { baseUrl: `${remaining.url}/api`, token: () => token })
  const deployer: Deployer = { shoal: remaining, org, token, api }
  const processor = { periodicOutput: { everyMs: 20, text: 'line {n}' } }
  const deployed = await deploySimulated(deployer, { name: 'talker', slot: 'v1', processors: { processor } })
  expect(deployed.failureReason).toBeNull()

  const received: LogEntry[] = []
  for (let restart = 0; restart < restarts; restart++) {
    const follower = await follow(stopping, received.at(-1)?.id)
    await until(() => follower.entries.length > 50, 'the follower has read lines')
    const stoppedMs = performance.now()
    expect(await stopping.stop()).toBe(0)
    // This is far less than SHOAL_DRAIN_SECONDS, after which the server cuts connections.
    expect(performance.now() - stoppedMs).toBeLessThan(60_000)
    expect(await follower.ended).toBe('cleanly')
    received.push(...follower.entries)
    const started = await startApi(new URL(stopping.url).port)
    stopping = remaining
    remaining = started
  }
  const numbers = received.map(({ payload }) => Number(/^line (\d+)$/.exec(String(payload))?.[1]))
  expect(numbers.length).toBeGreaterThan(50 * restarts)
  expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? NaN) + index))
})
