import { contract, createClient, type Client, type Contract } from '@shoal/contract'
import { randomBytes } from 'node:crypto'
import { cpSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Client as Postgres } from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { makeCountingSquid } from '../support/counting-squid.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { addOrg } from '../support/org.ts'
import { startInstallation, type Installation } from '../support/role-processes.ts'
import { startProcess, type ServerProcess } from '../support/server-process.ts'
import { makeDataDir, processesIn } from '../support/shoal.ts'
import { until } from '../support/until.ts'

const org = 'acme-labs'
const settings = { SHOAL_SECRETS_KEY: randomBytes(32).toString('base64') }
const secondHost = makeDataDir()
let installation: Installation
let api: Client<Contract>
let project: string
let secondWorker: ServerProcess | undefined

beforeAll(async () => {
  installation = await startInstallation({ api: 1, worker: 1, gateway: 0 }, settings)
  const [{ port } = { port: 0 }] = installation.withRole('api')
  const url = `http://127.0.0.1:${port}`
  const as = (token: string) => createClient(contract, { baseUrl: `${url}/api`, token: () => token })
  const { api: client, token } = await addOrg({ cli: installation.cli, as }, org)
  api = client
  project = makeCountingSquid()
  const id = await deploy({ api, org, token, project, shoal: { url } }, { slot: 'v1', name: 'counting' })
  expect(await waitForDeployment({ api, org }, id, 120_000)).toMatchObject({ status: 'OK', failed: 'NO' })
})

afterAll(async () => {
  await secondWorker?.stop()
  await installation?.cli('host', 'release')
  // The first worker stops its remaining programs.
  const [worker] = installation?.withRole('worker') ?? []
  await worker?.end('SIGKILL')
  await worker?.start()
  // Missing if the setup failed.
  if (api) {
    const deletion = await api.squids.delete({ params: { code: org, reference: 'counting@v1' } })
    expect(await waitForDeployment({ api, org }, deletion.id, 120_000)).toMatchObject({ status: 'OK', failed: 'NO' })
  }
  await installation?.end()
  rmSync(secondHost, { recursive: true, force: true })
  if (project) rmSync(dirname(project), { recursive: true, force: true })
})

test('programs on a released host can no longer write when those on the next host start', async () => {
  const [worker] = installation.withRole('worker')
  const { dataDir } = installation
  await worker?.end('SIGKILL')
  expect(processesIn(dataDir)).not.toEqual([])
  for (const folder of ['images', 'toolchain'])
    cpSync(join(dataDir, folder), join(secondHost, folder), { recursive: true, verbatimSymlinks: true })
  await installation.cli('host', 'release')
  const database = await squidDatabase()
  onTestFinished(() => database.end())
  const starts = async () => (await database.query('select was_alone as "wasAlone" from starts order by id')).rows
  expect(await starts()).toEqual([{ wasAlone: true }])
  secondWorker = await startProcess({
    ...settings,
    DATABASE_URL: installation.postgres.url('shoal'),
    SHOAL_DATA_DIR: secondHost,
    SHOAL_ROLES: 'worker',
    SHOAL_RUNTIME: 'process',
    SHOAL_ON_EXIT: 'stop',
  })
  await until(async () => (await starts()).length > 1, 'the processor runs on the second host')
  await until(() => processesIn(secondHost).length > 0, 'its programs run in the second data directory')
  // `wasAlone` is true if no other processor held the lock in the database.
  expect(await starts()).toEqual([{ wasAlone: true }, { wasAlone: true }])
})

/** Connects to the squid's database as a superuser. */
async function squidDatabase(): Promise<Postgres> {
  const client = new Postgres({ connectionString: installation.postgres.url('shoal') })
  await client.connect()
  const { rows } = await client.query<{ database: string }>('select database from squid_databases')
  await client.end()
  const squid = new Postgres({ connectionString: installation.postgres.url(rows[0]?.database ?? '') })
  await squid.connect()
  return squid
}
