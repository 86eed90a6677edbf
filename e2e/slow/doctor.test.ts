import { OperatorDeployment, OperatorOrg, OperatorOverview, OperatorSquid } from '@shoal/contract'
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addOrg } from '../support/org.ts'
import { connectTo } from '../support/postgres.ts'
import { cliOf, startShoal, type Shoal } from '../support/shoal.ts'

type Report = { status: string; checks: { name: string; status: string; finding: string; remedy: string | null }[] }

let shoal: Shoal
beforeAll(async () => {
  shoal = await startShoal()
})
afterAll(() => shoal.end())

/** Runs the doctor, which exits with 1 if a check failed. */
async function examine(): Promise<Report> {
  try {
    return await shoal.cli<Report>('doctor')
  } catch (error) {
    return JSON.parse((error as { stdout: string }).stdout) as Report
  }
}

const failures = ({ checks }: Report) => checks.filter(({ status }) => status === 'failed')

test('a running installation has no failed check: server, ports and both Postgres are healthy', async () => {
  const report = await examine()
  expect(failures(report)).toEqual([])
  for (const name of ['server', 'ports', 'Postgres of Shoal', 'Postgres of squids', 'keys', 'disk'])
    expect(report.checks.filter((check) => check.name === name)).toEqual(
      expect.arrayContaining([expect.objectContaining({ status: 'ok' })]),
    )
  const sandbox = report.checks.find(({ name }) => name === 'sandbox')
  expect(sandbox?.finding).toContain('detected by the worker at ')
})

test('a failed check names the problem and the remedy, and the exit code is 1', async () => {
  const file = join(shoal.dataDir, 'secrets.key')
  chmodSync(file, 0o644)
  await expect(shoal.cli('doctor')).rejects.toMatchObject({ code: 1 })
  expect(failures(await examine())).toMatchObject([{ name: 'keys', remedy: `chmod 600 ${file}` }])
  chmodSync(file, 0o600)
  expect(failures(await examine())).toEqual([])
})

test('for scripts, `status --json`, `org list --json` and `squid list --json` print what the pages of operators show', async () => {
  const { id } = await addOrg(shoal, 'acme-labs')
  const database = await connectTo(shoal.dataDir, 'shoal')
  await database.query(
    `insert into squids (org_id, name, slot, desired_state, created_at) values ($1, 'listed', 'v1', 'hibernated', now())`,
    [id],
  )
  await database.end()
  const [status, { orgs }, { squids }] = await Promise.all([
    shoal.cli('status'),
    shoal.cli<{ orgs: unknown[] }>('org', 'list'),
    shoal.cli<{ squids: unknown[] }>('squid', 'list', '--search', 'listed'),
  ])
  expect(status).toMatchObject({ database: 'ok', organizations: 1, squidsHibernated: 1, squidsRunning: 0 })
  const { replicas: _, ...shapes } = OperatorOverview.shape
  for (const [name, shape] of Object.entries({ ...shapes, unfinishedDeployments: OperatorDeployment.array() }))
    expect(shape.safeParse(status[name]).error, name).toBeUndefined()
  expect(status['processes']).toMatchObject([{ roles: ['api', 'worker', 'gateway'], isAlive: true, disk: {} }])
  const org = OperatorOrg.array()
    .parse(orgs)
    .find(({ code }) => code === 'acme-labs')
  expect(org).toMatchObject({ status: 'ACTIVE', firstAdminEmail: 'admin@acme-labs.dev', squids: 1 })
  expect(OperatorSquid.array().parse(squids)).toMatchObject([
    { name: 'listed', slot: 'v1', organization: { code: 'acme-labs' } },
  ])
})

test('before the first start, the doctor creates no files', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-none-'))
  const dataDir = join(dir, 'data')
  // Other programs on this machine may use the ports.
  await cliOf(dataDir)('doctor').catch(() => undefined)
  expect(existsSync(dataDir)).toBe(false)
  rmSync(dir, { recursive: true })
})
