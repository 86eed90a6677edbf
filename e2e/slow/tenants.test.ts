import { globSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Client, Contract, Squid } from '@shoal/contract'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openClient, type PublicClient } from '../../scripts/public-client.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { addOrg } from '../support/org.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { fileMark, makeSpySquid } from '../support/spy-squid.ts'
import { until } from '../support/until.ts'

type Tenant = { shoal: Shoal; org: string; token: string; api: Client<Contract>; project: string }
/** What a spy found (`spy-squid.ts`). `seen`: the number of files and folders that it searched. */
type Report = {
  seen: number
  secrets: string[]
  commands: string[]
  opened: string[]
  marks: string[]
  names: (string | null)[]
}

/** The tests also run without the sandbox. Then only separate uids protect the files of other tenants. */
const sandboxKinds = [
  { sandbox: 'bubblewrap', setting: 'auto' },
  { sandbox: 'no sandbox', setting: 'none' },
]

const isRoot = process.getuid?.() === 0

/** Two organizations on one machine, each with a squid that searches for the other's data. */
describe.each(sandboxKinds)('two tenants that try to reach each other, with $sandbox', ({ sandbox, setting }) => {
  let shoal: Shoal
  let sqd: PublicClient
  let insiders: Tenant
  let outsiders: Tenant

  async function addTenant(org: string): Promise<Tenant> {
    const { token, api } = await addOrg(shoal, org)
    const tenant = { shoal, org, token, api, project: makeSpySquid(org) }
    const secrets = [{ action: 'UPDATE' as const, name: 'SECRET', value: `secret-of-${org}` }]
    await tenant.api.secrets.change({ params: { code: org }, body: { secrets } })
    const deployment = await waitForDeployment(tenant, await deploy(tenant, { name: org, slot: 'v1' }))
    expect(deployment.failureReason).toBeNull()
    return tenant
  }

  const urlOf = ({ org }: Tenant, path: string) => `${shoal.gatewayUrl}/${org}/${org}@v1/api/${path}`
  const squidOf = ({ org, api }: Tenant): Promise<Squid> =>
    api.squids.get({ params: { code: org, reference: `${org}@v1` } })
  const databaseOf = async (tenant: Tenant) => {
    const [connection] = (await squidOf(tenant)).addons.postgres?.connections ?? []
    if (!connection) throw new Error(`${tenant.org} has no database`)
    return connection.params
  }

  /** Returns the files of a tenant's images and containers that contain its mark, and their folders. */
  const pathsOf = (org: string): string[] => {
    const hasMark = (path: string) => {
      try {
        return readFileSync(path, 'utf8').includes(`${fileMark}${org}`)
      } catch {
        return false
      }
    }
    const files = globSync('{images,containers}/**/*.{js,log}', {
      cwd: shoal.dataDir,
      exclude: (name) => name.endsWith('node_modules'),
    })
    const paths = files.map((file) => join(shoal.dataDir, file)).filter(hasMark)
    expect(paths.length).toBeGreaterThan(0)
    return [...new Set(paths.flatMap((path) => [path, dirname(path)]))]
  }

  beforeAll(async () => {
    ;[shoal, sqd] = await Promise.all([startShoal({ SHOAL_SANDBOX: setting }), openClient()])
    ;[insiders, outsiders] = await Promise.all([addTenant('insiders'), addTenant('outsiders')])
  })

  afterAll(async () => {
    sqd?.close()
    for (const tenant of [insiders, outsiders])
      if (tenant) rmSync(dirname(tenant.project), { recursive: true, force: true })
    await shoal?.end()
  })

  const hasSandbox = () => shoal.isolationSummary().startsWith('sandbox bubblewrap')
  // If the sandbox is missing, the tests fail as root, because root can install it. Other users skip them.
  beforeEach(({ skip }) => {
    skip(sandbox === 'bubblewrap' && !hasSandbox() && !isRoot, shoal.isolationSummary())
  })

  test('a squid finds no file, socket, port or environment of another tenant', async ({ skip }) => {
    skip(sandbox === 'no sandbox' && !isRoot, 'without root and without a sandbox squids share the user of the server')
    expect(hasSandbox()).toBe(sandbox === 'bubblewrap')
    expect(await (await fetch(urlOf(insiders, 'name'))).text()).toBe('I am insiders')
    const foreign = pathsOf('insiders')
    const query = new URLSearchParams([
      ...['/tmp', '/run', '/var', '/home', '/root', shoal.dataDir].map((dir): [string, string] => ['dir', dir]),
      ...[...foreign, ...pathsOf('outsiders')].map((path): [string, string] => ['open', path]),
    ])
    const report = await until(async () => {
      const response = await fetch(urlOf(outsiders, `spy?${query.toString()}`))
      return response.ok ? ((await response.json()) as Report) : null
    }, 'the spy has searched')
    // The spy has searched, and found only its own data.
    expect(report.seen).toBeGreaterThan(0)
    expect(report.secrets).toContain('SECRET=secret-of-outsiders')
    expect(new Set(report.secrets)).toEqual(new Set(['SECRET=secret-of-outsiders']))
    expect(report.marks).toContain(`${fileMark}outsiders`)
    expect(report.marks.filter((mark) => mark !== `${fileMark}outsiders`)).toEqual([])
    expect(report.names.filter((name) => name?.includes('insiders'))).toEqual([])
    // The spy can open only its own paths, although the request names those of the other tenant too.
    expect(report.opened.length).toBeGreaterThan(0)
    expect(report.opened.filter((path) => foreign.includes(path))).toEqual([])
    // Only the sandbox hides processes; without it the server logs a warning.
    expect(report.commands.some((command) => command.includes('server/src/main.ts'))).toBe(!hasSandbox())
    expect(shoal.output().includes('and the list of its processes')).toBe(!hasSandbox())
  })

  test('the credentials of one database do not open another', async () => {
    const [own, other] = [await databaseOf(outsiders), await databaseOf(insiders)]
    const open = async (database: string) => {
      const client = new pg.Client({ ...own, database })
      try {
        await client.connect()
        return await client.query('select 1 as one').then(({ rows }) => rows)
      } finally {
        await client.end().catch(() => undefined)
      }
    }
    expect(await open(own.database)).toEqual([{ one: 1 }])
    await expect(open(other.database)).rejects.toThrow(/permission denied|not permitted|no pg_hba/)
  })

  test('with the key of one tenant, the client cannot read or change data of the other', async () => {
    await sqd('auth', '-k', outsiders.token, '-h', `${shoal.url}/api`)
    const attempts = [
      ['view', '-o', 'insiders', '-r', 'insiders@v1'],
      ['logs', '-o', 'insiders', '-r', 'insiders@v1'],
      ['restart', '-o', 'insiders', '-r', 'insiders@v1', '--no-interactive'],
      ['remove', '-o', 'insiders', '-r', 'insiders@v1', '--no-interactive', '--force'],
      ['tags', 'add', 'prod', '-o', 'insiders', '-r', 'insiders@v1', '--no-interactive'],
      ['secrets', 'list', '-o', 'insiders'],
      ['deploy', outsiders.project, '-o', 'insiders', '-s', 'v1', '--no-interactive', '--no-stream-logs'],
    ]
    for (const attempt of attempts) {
      const { code, stdout, stderr } = await sqd(...attempt)
      expect(`${attempt[0]} ends with ${code}`).not.toBe(`${attempt[0]} ends with 0`)
      expect(stdout + stderr).not.toMatch(/secret-of|I am|mark of/)
    }
    const { tags, status, lastDeploy } = await squidOf(insiders)
    expect({ tags, status, type: lastDeploy?.type }).toEqual({ tags: [], status: 'DEPLOYED', type: 'DEPLOY' })
  })
})
