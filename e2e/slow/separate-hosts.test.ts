import { contract, createClient, type Client, type Contract } from '@shoal/contract'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasS3Server, startS3Server, type S3Server } from '../../scripts/s3-server.ts'
import { addOrg } from '../support/org.ts'
import { startInstallation, type Installation, type RoleProcess } from '../support/role-processes.ts'
import { startProcess } from '../support/server-process.ts'
import { makeDataDir } from '../support/shoal.ts'
import { deploySimulated, requestSimulatedDeploy } from '../support/simulated-squid.ts'
import { waitForDeployment } from '../support/deploy.ts'

const org = 'acme-labs'
describe.skipIf(!hasS3Server())('an api and a worker without a common data directory, with S3', () => {
  let server: S3Server
  let installation: Installation
  let settings: Record<string, string>
  let apiProcess: RoleProcess
  let api: Client<Contract>
  let token: string
  const url = () => `http://127.0.0.1:${apiProcess.port}`
  const deployer = () => ({ api, org, token, shoal: { url: url() } })

  beforeAll(async () => {
    server = await startS3Server()
    settings = {
      ...server.settings,
      SHOAL_RUNTIME: 'sim',
      SHOAL_SECRETS_KEY: randomBytes(32).toString('base64'),
      SHOAL_LOG_LEVEL: 'warn',
    }
    installation = await startInstallation({ api: 1, worker: 1, gateway: 0 }, settings, { separateDataDirs: true })
    const [first] = installation.withRole('api')
    if (!first) throw new Error('The installation has no api')
    apiProcess = first
    const as = (token: string) => createClient(contract, { baseUrl: `${url()}/api`, token: () => token })
    ;({ api, token } = await addOrg({ cli: installation.cli, as }, org))
  })
  afterAll(async () => {
    await installation?.end()
    await server?.end()
  })

  test('the worker deploys an archive that the api received, and neither data directory contains it', async () => {
    const deployment = await deploySimulated(deployer(), { name: 'remote', slot: 'v1' })
    expect(deployment).toMatchObject({ status: 'OK', failed: 'NO' })
    const dataDirs = installation.processes.map(({ dataDir }) => dataDir)
    expect(new Set(dataDirs).size).toBe(2)
    expect(
      dataDirs.flatMap((dir) => (existsSync(join(dir, 'uploads')) ? readdirSync(join(dir, 'uploads')) : [])),
    ).toEqual([])
  })

  test('while S3 is unavailable, an api starts and logs a warning; afterwards, it accepts archives', async () => {
    await apiProcess.end('SIGTERM')
    await server.stop()
    await apiProcess.start()
    expect(apiProcess.output()).toContain('Until it recovers, users cannot deploy.')
    await expect(requestSimulatedDeploy(deployer(), { name: 'remote', slot: 'v1' })).rejects.toThrow()
    await server.start()
    const id = await requestSimulatedDeploy(deployer(), { name: 'remote', slot: 'v1', description: 'new' })
    expect(await waitForDeployment({ api, org }, id, 120_000)).toMatchObject({ status: 'OK', failed: 'NO' })
  })

  test.each([
    ['a wrong secret key', { SHOAL_S3_SECRET_KEY: 'wrong-secret' }, 'correct SHOAL_S3_SECRET_KEY'],
    ['a missing bucket', { SHOAL_S3_BUCKET: 'missing' }, 'create the bucket, or correct SHOAL_S3_BUCKET'],
  ])('with %s, a server exits, names the setting to correct, and prints no key', async (_, wrong, advice) => {
    const env: Record<string, string> = { ...settings, ...wrong }
    const dataDir = makeDataDir()
    const database = { DATABASE_URL: installation.postgres.url('shoal') }
    const started = await startProcess({ ...env, ...database, SHOAL_DATA_DIR: dataDir, SHOAL_ROLES: 'api' })
    try {
      expect(await started.ended).toBe(1)
      expect(started.output()).toContain(advice)
      for (const key of [env['SHOAL_S3_SECRET_KEY'], env['SHOAL_S3_ACCESS_KEY']])
        expect(started.output()).not.toContain(key)
    } finally {
      started.signal('SIGKILL')
      rmSync(dataDir, { recursive: true, force: true })
    }
  })
})
