import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { archiveOf, multipartOf } from '../modules/deployments/testing/archive.ts'
import { squidFiles } from '../modules/deployments/testing/squid-files.ts'
import { solveBotCheck, startTestApp, type TestApp, type TestOrg, type TestUser } from '../testing/index.ts'
import { until } from '../testing/until.ts'

let t: TestApp
let org: TestOrg
let viewer: TestUser & { roleId: number }
beforeAll(async () => {
  t = await startTestApp({ env: { SHOAL_MAIL_URL: 'smtp://127.0.0.1:9' } })
  org = await t.make.org({ admin: await t.make.user({ password: 'correct horse' }) })
  viewer = await t.make.member(org, 'viewer')
})
afterAll(() => t?.close())

const query = async (text: string) => (await t.app.database.pool.query<Record<string, unknown>>(text)).rows

/** Terminates the connection of a change when it inserts into this table, which has the same effect as killing the process at that moment. */
async function killAt(table: string, work: () => Promise<unknown>): Promise<unknown> {
  await query(`create or replace function die() returns trigger language plpgsql as $$ begin
    perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(1); return new; end $$;
    create trigger die before insert on ${table} for each row execute function die()`)
  try {
    return await work()
  } finally {
    await until(() => query(`drop trigger if exists die on ${table}`))
  }
}

/** Returns a digest of each table, without the data that every call writes: rate limits, and the last use of sessions. */
async function snapshot(): Promise<Record<string, unknown>> {
  const tables = await query(
    `select relnamespace::regnamespace || '.' || relname as name from pg_class where relkind = 'r' and not relispartition
     and (relnamespace::regnamespace::text = 'public' or relname = 'job') and relname not in ('rate_counters', 'sessions', 'api_tokens')`,
  )
  const contents: Record<string, unknown> = {
    sessions: await query('select id from sessions order by id'),
    tokens: await query('select id from api_tokens order by id'),
  }
  for (const { name } of tables)
    contents[String(name)] = (
      await query(`select md5(coalesce(string_agg(r::text, ',' order by r::text), '')) as rows from ${String(name)} r`)
    )[0]
  return contents
}

const params = () => ({ code: org.code })
const asAdmin = () => t.as(org.admin)
const password = 'correct horse'

async function upload() {
  const { uploadUrl, fileUrl } = await asAdmin().deployments.createUpload({ params: params() })
  const { payload, contentType } = multipartOf(archiveOf(squidFiles({ files: { 'x.txt': String(Math.random()) } })))
  const headers = { authorization: `token ${org.admin.token}`, 'content-type': contentType }
  return { fileUrl, send: () => t.http.inject({ method: 'POST', url: `/api/v1${uploadUrl}`, headers, payload }) }
}

/** Each entry prepares a change, and returns a function that makes the change. */
const changes: Record<string, () => Promise<() => Promise<unknown>>> = {
  'orgs.create': async () => () =>
    asAdmin().orgs.create({ body: { code: 'made-now', name: 'Made', email: 'a@example.com' } }),
  'orgs.update': async () => () =>
    asAdmin().orgs.update({ params: params(), body: { name: 'Else', email: 'b@example.com' } }),
  'orgs.inviteMember': async () => () =>
    asAdmin().orgs.inviteMember({ params: params(), body: { email: 'c@example.com', roleType: 'viewer' } }),
  'orgs.changeRole': async () => () =>
    asAdmin().orgs.changeRole({ params: { ...params(), id: String(viewer.roleId) }, body: { roleType: 'developer' } }),
  'orgs.removeMember': async () => () =>
    asAdmin().orgs.removeMember({ params: { ...params(), id: String(viewer.roleId) } }),
  'secrets.change': async () => () =>
    asAdmin().secrets.change({ params: params(), body: { secrets: [{ action: 'UPDATE', name: 'A', value: 'b' }] } }),
  'user.createApiToken': async () => () => asAdmin().user.createApiToken({ body: { name: 'laptop' } }),
  'user.changePassword': async () => () =>
    asAdmin().user.changePassword({ body: { oldPassword: password, newPassword: 'another horse' } }),
  'user.endSessions': async () => () => asAdmin().user.endSessions(),
  'rpc.createToken': async () => () => asAdmin().rpc.createToken({ params: params() }),
  'billing.updateLimits': async () => () =>
    asAdmin().billing.updateLimits({
      params: params(),
      body: { spendCapUsd: '5', atCap: 'stop_deploys', hibernateOrder: [], rpcRequestsCap: null },
    }),
  'alerts.mute': async () => () =>
    asAdmin().alerts.mute({ params: params(), body: { kind: null, squidId: null, minutes: 60 } }),
  'alerts.addChannel': async () => () =>
    asAdmin().alerts.addChannel({
      params: params(),
      body: { type: 'slack', name: 'x', url: 'https://hooks.example.com/a' },
    }),
  'deployments.createUpload': async () => () => asAdmin().deployments.createUpload({ params: params() }),
  'deployments.upload': async () => {
    const { send } = await upload()
    return async () => {
      const response = await send()
      if (response.statusCode !== 201) throw Object.assign(new Error(response.body), { status: response.statusCode })
    }
  },
  'squids.deploy': async () => {
    const { fileUrl, send } = await upload()
    await send()
    const body = {
      artifactUrl: fileUrl,
      manifestPath: 'squid.yaml',
      options: { overrideName: 'new-one', hardReset: false },
    }
    return () => asAdmin().squids.deploy({ params: params(), body })
  },
  'auth.signUp': async () => {
    const turnstileToken = await solveBotCheck(t)
    const body = { email: 'new@example.com', password, fullName: 'New', turnstileToken }
    return () => t.as(null).auth.signUp({ body })
  },
  'auth.signIn': async () => () => t.as(null).auth.signIn({ body: { email: org.admin.email, password } }),
  'orgs.delete': async () => () => asAdmin().orgs.delete({ params: params() }),
}

describe('a change that is killed while its audit row is written leaves nothing behind', () => {
  test.each(Object.entries(changes))('%s', async (_, prepare) => {
    const change = await prepare()
    const before = await snapshot()
    await expect(killAt('audit_log', change)).rejects.toMatchObject({ status: 503 })
    expect(await snapshot()).toEqual(before)
  })
})

describe('an email or job is written together with the change that causes it, or not at all', () => {
  test.each(['orgs.inviteMember', 'orgs.update', 'auth.signUp', 'user.changePassword'])(
    'when %s is killed while its job is written',
    async (name) => {
      const change = (await changes[name]?.()) ?? (async () => {})
      const before = await snapshot()
      await expect(killAt('pgboss.job_common', change)).rejects.toMatchObject({ status: 503 })
      expect(await snapshot()).toEqual(before)
    },
  )

  test('an email is sent if its transaction commits, but not if it is rolled back', async () => {
    const email = { to: 'x@example.com', subject: 'x', text: 'x', html: 'x' }
    const before = await snapshot()
    const rolledBack = t.app.db.transaction(async () => {
      await t.app.mailer.send(email)
      throw new Error('no')
    })
    await expect(rolledBack).rejects.toThrow('no')
    expect(await snapshot()).toEqual(before)
    await t.app.db.transaction(async () => t.app.mailer.send(email))
    expect(await query(`select data from pgboss.job where name = 'mail.send'`)).toHaveLength(1)
    expect(await query('select id from mails')).toHaveLength(1)
  })
})

test('a query that starts after its transaction has ended runs outside the transaction', async () => {
  let lateQuery: Promise<unknown> = Promise.resolve()
  let openGate = () => {}
  const gate = new Promise<void>((done) => void (openGate = done))
  const rolledBack = t.app.db.transaction(async () => {
    lateQuery = gate.then(() => t.app.db.execute('select 1'))
    throw new Error('no')
  })
  await expect(rolledBack).rejects.toThrow('no')
  openGate()
  await expect(lateQuery).resolves.toMatchObject({ rows: [{}] })
})
