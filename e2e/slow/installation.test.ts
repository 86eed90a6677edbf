import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { startProcess, type ServerProcess } from '../support/server-process.ts'
import { findPostmaster, postmasterOf } from '../support/postgres.ts'
import { cliOf, stopPostgresOf, makeDataDir, makeReadyDataDir } from '../support/shoal.ts'
import { until } from '../support/until.ts'
import { isFull, promisedLimitMs } from '../support/tier.ts'

const started: ServerProcess[] = []
const dataDirs: string[] = []

/** The settings of `npm start`, with which the whole installation stops when the server does. */
const startSettings = { SHOAL_ON_EXIT: 'stop' }
/** The settings of `npm run serve`. */
const serveSettings = { SHOAL_ON_EXIT: 'keep' }

function newDataDir(make = makeReadyDataDir): string {
  const dir = make()
  dataDirs.push(dir)
  return dir
}

async function start(dataDir: string, env: Record<string, string>, file?: string): Promise<ServerProcess> {
  const server = await startProcess({ SHOAL_DATA_DIR: dataDir, ...env }, file)
  started.push(server)
  return server
}

async function startReady(dataDir: string, env: Record<string, string>): Promise<ServerProcess> {
  const server = await start(dataDir, env)
  await server.ready()
  return server
}

const isReady = async (server: ServerProcess) => {
  const responses = await Promise.all([server.url, server.gatewayUrl].map((url) => fetch(`${url}/readyz`)))
  return responses.every((response) => response.ok)
}

async function killAll(): Promise<void> {
  for (const server of started.splice(0)) {
    server.signal('SIGKILL')
    await server.ended
  }
}

afterEach(killAll)

afterAll(async () => {
  for (const dir of dataDirs) {
    await stopPostgresOf(dir)
    rmSync(dir, { recursive: true, force: true })
  }
})

describe('a second start on the same data directory', () => {
  test('is refused while npm start runs, names the process id of the running server, and changes nothing', async () => {
    const dataDir = newDataDir()
    const first = await startReady(dataDir, startSettings)
    const postgres = postmasterOf(dataDir)
    for (const env of [
      startSettings,
      { ...serveSettings, SHOAL_ROLES: 'worker' },
      ...(isFull ? [serveSettings, { ...serveSettings, SHOAL_ROLES: 'api' }] : []),
    ]) {
      const second = await start(dataDir, env)
      expect(await second.ended).toBe(1)
      expect(second.output()).toMatch(new RegExp(`is served by process ${first.pid} \\(.*\\) since \\d{4}-`))
      expect(second.output()).not.toContain('    at ')
    }
    const dev = await start(dataDir, startSettings, 'scripts/dev.ts')
    expect(await dev.ended).toBe(1)
    expect(dev.output()).toContain(`process ${first.pid} `)
    const backup = join(newDataDir(), 'shoal.tar')
    await cliOf(dataDir)('backup', '--to', backup)
    const restoring = cliOf(dataDir)('restore', '--from', backup, '--force')
    await expect(restoring).rejects.toThrow(`process ${first.pid} `)
    expect(await isReady(first)).toBe(true)
    expect(postmasterOf(dataDir)).toBe(postgres)
    expect(await first.stop()).toBe(0)
    expect(findPostmaster(dataDir)).toBeNull()
  })

  test('is refused if it is npm start while npm run serve runs, or if its ports are in use', async () => {
    const dataDir = newDataDir()
    const first = await startReady(dataDir, serveSettings)
    const postgres = postmasterOf(dataDir)
    const second = await start(dataDir, startSettings)
    expect(await second.ended).toBe(1)
    expect(second.output()).toContain(`process ${first.pid} `)
    const ports = { SHOAL_PORT: new URL(first.url).port, SHOAL_GATEWAY_PORT: new URL(first.gatewayUrl).port }
    for (const usedPorts of [ports, { ...ports, SHOAL_PORT: '0' }]) {
      const third = await start(dataDir, { ...serveSettings, ...usedPorts })
      expect(await third.ended).toBe(1)
      expect(third.output()).toContain('Is Shoal already running?')
    }
    expect(await isReady(first)).toBe(true)
    expect(postmasterOf(dataDir)).toBe(postgres)
  })

  test('works for any number of `npm run serve` processes; the last one stops Postgres', async () => {
    const dataDir = newDataDir()
    const first = await startReady(dataDir, serveSettings)
    const [worker, api] = await Promise.all([
      startReady(dataDir, { SHOAL_ON_EXIT: 'stop', SHOAL_ROLES: 'worker' }),
      startReady(dataDir, { SHOAL_ON_EXIT: 'stop', SHOAL_ROLES: 'api' }),
    ])
    expect(worker.output()).toContain(`is on standby; the active worker is process ${first.pid} `)
    expect(await worker.stop()).toBe(0)
    expect(await isReady(first)).toBe(true)
    expect(await first.stop()).toBe(0)
    expect((await fetch(`${api.url}/readyz`)).status).toBe(200)
    expect(await api.stop()).toBe(0)
    expect(findPostmaster(dataDir)).toBeNull()
  })

  test('works after the first process was killed: the second one gets its locks and adopts its Postgres', async () => {
    const dataDir = newDataDir()
    const first = await startReady(dataDir, startSettings)
    const postgres = postmasterOf(dataDir)
    first.signal('SIGKILL')
    await first.ended
    const second = await startReady(dataDir, startSettings)
    expect(postmasterOf(dataDir)).toBe(postgres)
    const records = readdirSync(join(dataDir, 'locks')).filter((name) => name.startsWith('process-'))
    expect(records).toEqual([`process-${second.pid}.json`])
    expect(await second.stop()).toBe(0)
    expect(findPostmaster(dataDir)).toBeNull()
  })

  test('two simultaneous starts: one succeeds and one is refused', async () => {
    const dataDir = newDataDir(makeDataDir)
    const both = await Promise.all([start(dataDir, startSettings), start(dataDir, startSettings)])
    const outcome = await Promise.all(
      both
        .map((server) =>
          Promise.race([server.ready().then(() => 'ready'), server.ended.then((code) => `ended with ${code}`)]),
        )
        .map((result) => result.catch(() => 'ended with 1')),
    )
    expect(outcome.toSorted()).toEqual(['ended with 1', 'ready'])
  })
})

describe('a second worker', () => {
  const worker = { ...serveSettings, SHOAL_ROLES: 'worker' }
  const dataDir = newDataDir()

  test('takes over within 5 s when the active worker is killed', async () => {
    const active = await startReady(dataDir, worker)
    const standby = await startReady(dataDir, worker)
    await until(
      () => standby.output().includes(`is on standby; the active worker is process ${active.pid} `),
      'the standby reports the active worker',
    )
    active.signal('SIGKILL')
    await active.ended
    await until(
      () => standby.output().includes('this worker becomes active'),
      'the standby takes over',
      promisedLimitMs(5_000),
    )
    expect(await standby.stop()).toBe(0)
  })

  test('does not replace a frozen worker, and reports it within 15 s', async () => {
    const active = await startReady(dataDir, worker)
    const standby = await startReady(dataDir, worker)
    active.signal('SIGSTOP')
    await until(
      () => standby.output().includes('has not responded for'),
      'the standby reports the frozen worker',
      promisedLimitMs(15_000),
    )
    expect(standby.output()).not.toContain('takes over')
    active.signal('SIGCONT')
    await until(() => standby.output().includes('responds again'), 'the standby reports that the worker responds again')
    expect(standby.output()).not.toContain('takes over')
  })
})

const dataDirOfRoles = newDataDir()

const roleSets = ['api', 'gateway', 'worker', 'api,worker,gateway']
if (isFull) roleSets.push('api,gateway', 'api,worker', 'worker,gateway')

test.each(roleSets)('a process with the roles %s ends cleanly on SIGTERM', async (roles) => {
  // The sim runtime works only in a worker's process, and with the real runtime the worker would install a toolchain.
  const runtime = roles.includes('worker') ? 'sim' : 'process'
  const server = await startReady(dataDirOfRoles, { ...serveSettings, SHOAL_ROLES: roles, SHOAL_RUNTIME: runtime })
  expect(await server.stop()).toBe(0)
  expect(server.output()).not.toContain('Error')
})
