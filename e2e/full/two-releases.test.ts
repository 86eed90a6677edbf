import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startExternalPostgres, type ExternalPostgres } from '../../scripts/external-postgres.ts'
import { addOrg, type Org } from '../support/org.ts'
import { commitOfPreviousRelease } from '../support/previous-release.ts'
import { startProcess, type ServerProcess } from '../support/server-process.ts'
import { connectToShoal, makeDataDir, repositoryRoot } from '../support/shoal.ts'
import { deploySimulated } from '../support/simulated-squid.ts'
import { until } from '../support/until.ts'

/** Writes the files of a commit to a folder, with links to the packages that are installed in this repository. */
function writeTree(commit: string, folder: string): void {
  const archive = execFileSync('git', ['archive', commit, 'package.json', 'contract', 'runtime', 'server'], {
    cwd: repositoryRoot,
    maxBuffer: 2 ** 28,
  })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  mkdirSync(join(folder, 'node_modules/@shoal'), { recursive: true })
  for (const name of readdirSync(join(repositoryRoot, 'node_modules')))
    if (name !== '@shoal' && !name.startsWith('.'))
      symlinkSync(join(repositoryRoot, 'node_modules', name), join(folder, 'node_modules', name))
  for (const name of ['contract', 'runtime', 'server'])
    symlinkSync(join(folder, name), join(folder, 'node_modules/@shoal', name))
  symlinkSync(join(repositoryRoot, 'server/node_modules'), join(folder, 'server/node_modules'))
  mkdirSync(join(folder, 'console'))
  symlinkSync(join(repositoryRoot, 'console/dist'), join(folder, 'console/dist'))
}

const commit = commitOfPreviousRelease()
if (commit === null) console.log('The test of two releases is skipped: git has no commit of the previous release.')

describe.skipIf(commit === null)('the previous release and this one on one database', () => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-previous-'))
  const dataDir = makeDataDir()
  const servers: ServerProcess[] = []
  let postgres: ExternalPostgres
  let settings: Record<string, string>

  beforeAll(async () => {
    writeTree(commit ?? '', folder)
    postgres = await startExternalPostgres()
    settings = {
      DATABASE_URL: postgres.url('shoal'),
      SHOAL_DATA_DIR: dataDir,
      SHOAL_ON_EXIT: 'keep',
      SHOAL_ALLOW_SHARED_NETWORK: 'true',
    }
  })

  afterAll(async () => {
    for (const server of servers) server.signal('SIGKILL')
    await Promise.all(servers.map(({ ended }) => ended))
    await postgres?.stop()
    for (const dir of [folder, dataDir]) rmSync(dir, { recursive: true, force: true })
  })

  async function start(release: 'previous' | 'this'): Promise<ServerProcess> {
    const server = await startProcess(
      settings,
      release === 'previous' ? join(folder, 'server/src/main.ts') : 'server/src/main.ts',
    )
    servers.push(server)
    await server.ready()
    return server
  }

  const clientOf = ({ url, gatewayUrl }: ServerProcess) =>
    connectToShoal({ url, gatewayUrl, outboxUrl: null, settings: { ...settings, SHOAL_RUNTIME: 'sim' } })

  /** Changes secrets and reads squids and secrets on a server, without pause until `stop`. `rounds` returns the number of completed repetitions; `failures` has the error of each failed one. */
  function startCalls(server: ServerProcess, org: Org, name: string) {
    const api = clientOf(server).as(org.token)
    const params = { code: org.org }
    const failures: string[] = []
    let [rounds, isStopped] = [0, false]
    const running = (async () => {
      for (; !isStopped; rounds++) {
        try {
          await api.secrets.change({
            params,
            body: { secrets: [{ action: 'UPDATE', name: `${name}_${rounds % 10}`, value: `${rounds}` }] },
          })
          await Promise.all([api.squids.list({ params, query: {} }), api.secrets.list({ params })])
        } catch (error) {
          failures.push(String(error))
        }
      }
    })()
    const stop = async () => {
      isStopped = true
      await running
    }
    return { rounds: () => rounds, failures, stop }
  }

  test('both releases respond under load while the new one migrates, and a return to the previous one loses nothing', async () => {
    const previous = await start('previous')
    const org = await addOrg(clientOf(previous), 'acme')
    const deployer = (server: ServerProcess) => ({
      shoal: server,
      org: 'acme',
      token: org.token,
      api: clientOf(server).as(org.token),
    })
    expect((await deploySimulated(deployer(previous), { name: 'old', slot: 'v1' })).failed).toBe('NO')

    const calls = [startCalls(previous, org, 'PREVIOUS')]
    const current = await start('this')
    calls.push(startCalls(current, org, 'THIS'))
    await until(
      () => calls.every(({ rounds }) => rounds() >= 50),
      'both releases have responded to 50 repetitions of the calls',
    )
    // The worker of the previous release is still active, and works with the newer schema.
    expect((await deploySimulated(deployer(current), { name: 'new', slot: 'v1' })).failed).toBe('NO')
    await Promise.all(calls.map(({ stop }) => stop()))
    expect(calls.flatMap(({ failures }) => failures)).toEqual([])

    // The worker of this release takes over; later, that of the previous release takes over again.
    expect(await previous.stop()).toBe(0)
    expect((await deploySimulated(deployer(current), { name: 'newer', slot: 'v1' })).failed).toBe('NO')
    expect(await current.stop()).toBe(0)
    const again = await start('previous')
    const api = clientOf(again).as(org.token)
    const squids = await api.squids.list({ params: { code: 'acme' }, query: {} })
    for (const name of ['old', 'new', 'newer']) expect(JSON.stringify(squids)).toContain(`"${name}"`)
    const secrets = JSON.stringify(await api.secrets.list({ params: { code: 'acme' } }))
    for (const name of ['PREVIOUS_0', 'THIS_0']) expect(secrets).toContain(name)
    expect((await deploySimulated(deployer(again), { name: 'last', slot: 'v1' })).failed).toBe('NO')
    expect(await again.stop()).toBe(0)
  }, 600_000)
})
