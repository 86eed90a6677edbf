import type { WorkerApp } from '../../../../server/src/app.ts'
import { hashSecret } from '../../../../server/src/sealing/hash-secret.ts'
import type { createFactories, TestUser } from '../../../../server/src/testing/make.ts'

/** Overrides for the default request of an endpoint (`requestFor` of contract-samples.ts). `params`: the parameters of the path. */
export type Sample = { params?: Record<string, string>; body?: object; token?: string }

export type SampleContext = {
  app: WorkerApp
  make: ReturnType<typeof createFactories>
  /** The organization that is changed. */
  orgId: number
  /** A new administrator of this organization; for endpoints of operators, the operator. */
  caller: TestUser
  /** Solves the bot check of forms. */
  solveBotCheck: () => Promise<string>
  /** Opens a card form of the organization, enters a card if `hasCard`, and returns the secret of the form. */
  cardForm: (hasCard: boolean) => Promise<string>
}

type Prepare = (context: SampleContext) => Promise<Sample>

/** The password of callers who need one, such as the operator. */
export const samplePassword = 'long enough'
const newPassword = 'also long enough'

const body =
  (content: object): Prepare =>
  async () => ({ body: content })

/** Runs a statement with the id of the organization as `$1` and the caller's email as `$2`, and returns its first row. */
async function firstRow({ app, orgId, caller }: SampleContext, sql: string): Promise<Record<string, string>> {
  const values = [orgId, caller.email].slice(0, sql.includes('$2') ? 2 : 1)
  const { rows } = await app.database.pool.query<Record<string, string>>(sql, values)
  if (!rows[0]) throw new Error(`The filled database has no row for: ${sql}`)
  return rows[0]
}

/** Reads the parameters of the path from the first row of a statement. */
const params =
  (sql: string): Prepare =>
  async (context) => ({ params: await firstRow(context, sql) })

/** Selects the `n`-th version of the organization. Endpoints that start a deployment use different versions, so that they do not wait for each other. */
const version = (n: number, sample: Sample = {}): Prepare => {
  const find = params(
    `select name || '@' || slot as reference from squids where org_id = $1 order by id offset ${n} limit 1`,
  )
  return async (context) => ({ ...(await find(context)), ...sample })
}

const firstUser = params(`select min(user_id)::text as id from roles where org_id = $1 and user_id is not null`)
const role = (type: string) =>
  params(`select min(id)::text as id from roles where org_id = $1 and user_id is not null and type = '${type}'`)
/** Invites a user who is not a member. */
const invitation: Prepare = async (context) => {
  const caller = await context.make.user()
  const sql = `insert into roles (org_id, email, type, created_at) values ($1, $2, 'viewer', now()) returning id::text`
  return { params: await firstRow({ ...context, caller }, sql), token: caller.token }
}
const channel = params(`select min(id)::text as "channelId" from alert_channels where org_id = $1`)
const lastChannel = params(`select max(id)::text as "channelId" from alert_channels where org_id = $1`)
const domain = params(`select min(name) as name from squid_domains where org_id = $1 and is_active`)
const paymentMethod = params(`select min(id) as id from payment_methods where org_id = $1`)

/** Inserts an email link (for a confirmation or a new password), and returns its secret. */
const insertEmailLink = async (
  { app }: SampleContext,
  userId: number,
  purpose: 'confirm' | 'restore',
): Promise<string> => {
  const secret = `secret-${purpose}`
  await app.database.pool.query(
    `insert into email_links (hash, purpose, user_id, created_at, expires_at) values ($1, $2, $3, now(), now() + interval '1 hour')`,
    [hashSecret(secret), purpose, userId],
  )
  return secret
}

/** Samples for endpoints that would reject their default request. The bench calls an endpoint once for each of its samples. */
export const samples: Record<string, Prepare[]> = {
  'auth.signUp': [
    async ({ solveBotCheck }) => ({
      body: {
        email: 'sample@example.com',
        fullName: 'Sample',
        password: samplePassword,
        turnstileToken: await solveBotCheck(),
      },
    }),
  ],
  'auth.signIn': [
    async ({ make }) => {
      const { email } = await make.user({ password: samplePassword })
      return { body: { email, password: samplePassword } }
    },
  ],
  'auth.restore': [async ({ caller: { email } }) => ({ body: { email } })],
  'auth.confirmRestore': [
    async (context) => ({
      body: { password: newPassword, token: await insertEmailLink(context, context.caller.id, 'restore') },
    }),
  ],
  'auth.confirmEmail': [
    async (context) => {
      const { id, token } = await context.make.user({ emailVerified: false })
      return { token, body: { code: await insertEmailLink(context, id, 'confirm') } }
    },
  ],
  'user.changePassword': [
    async ({ make }) => {
      const { token } = await make.user({ password: samplePassword })
      return { token, body: { oldPassword: samplePassword, newPassword } }
    },
  ],
  'user.deleteApiToken': [
    async (context) => {
      await context.make.token(context.caller)
      return await params(
        `select t.id::text from api_tokens t join users u on u.id = t.user_id where $1 > 0 and u.email = $2`,
      )(context)
    },
  ],
  // The second code is that of an organization that is being deleted.
  'orgs.create': [
    async () => ({}),
    async ({ app }) => {
      const sql = `insert into orgs (code, squids_limit, created_at, deleted_at) values ('being-deleted', 1, now(), now())`
      await app.database.pool.query(sql)
      return { body: { code: 'being-deleted', name: 'Sample', email: 'sample@example.com' } }
    },
  ],
  'orgs.sendVerifyEmail': [
    async ({ app, orgId }) => {
      await app.database.pool.query(`update orgs set pending_email = 'new@example.com' where id = $1`, [orgId])
      return {}
    },
  ],
  'orgs.changeRole': [role('developer')],
  'orgs.removeMember': [role('admin'), role('developer')],
  'orgs.acceptInvite': [invitation],
  'orgs.rejectInvite': [invitation],
  'squids.restart': [async (context) => await version(1, { token: await context.make.token(context.caller) })(context)],
  'squids.hibernate': [version(2)],
  'squids.delete': [version(3), version(3)],
  'squids.setTag': [version(4)],
  'squids.removeTag': [
    params(
      `select t.squid_name || '@' || s.slot as reference, t.tag from squid_tags t join squids s on s.id = t.squid_id
       where t.org_id = $1 order by t.squid_id desc limit 1`,
    ),
  ],
  'secrets.change': [
    body({
      secrets: [
        { action: 'UPDATE', name: 'SAMPLE', value: 'sample' },
        { action: 'DELETE', name: 'SECRET_1' },
      ],
    }),
  ],
  'billing.enterTestCard': [
    async ({ cardForm }) => ({
      body: { clientSecret: await cardForm(false), number: '4242424242424242', expMonth: 1, expYear: 2040, cvc: '123' },
    }),
  ],
  'billing.addPaymentMethod': [async ({ cardForm }) => ({ body: { clientSecret: await cardForm(true) } })],
  'billing.makeDefaultPaymentMethod': [paymentMethod],
  'billing.removePaymentMethod': [paymentMethod],
  'billing.pay': [
    async (context) => {
      await firstRow(context, `update invoices set paid_at = null where org_id = $1 returning number::text`)
      return {}
    },
  ],
  'alerts.changeRule': [body({ isEnabled: true, threshold: 20 })],
  'alerts.changeChannel': [channel],
  'alerts.testChannel': [channel],
  'alerts.removeChannel': [lastChannel],
  'alerts.unmute': [params(`select min(id)::text as "muteId" from alert_mutes where org_id = $1`)],
  'alerts.replayDelivery': [params(`select max(id)::text as "deliveryId" from alert_deliveries where org_id = $1`)],
  'operators.confirmPassword': [body({ password: samplePassword })],
  'operators.disableUser': [firstUser],
  'operators.enableUser': [firstUser],
  'operators.listSessions': [firstUser],
  'operators.endSession': [
    params(`select user_id::text as id, id::text as "sessionId" from sessions where $1 > 0 order by user_id limit 1`),
  ],
  'operators.endSessions': [firstUser],
  'operators.resendConfirmation': [
    async ({ make }) => ({ params: { id: String((await make.user({ emailVerified: false })).id) } }),
  ],
  'operators.hibernateSquid': [version(5)],
  'statusPage.update': [
    body({ isEnabled: false, title: 'Sample', slug: 'sample-status', tags: [], alertKinds: [] }),
    async (context) => {
      const { squid, tag } = await firstRow(
        context,
        `select squid_name as squid, tag from squid_tags where org_id = $1 order by squid_name limit 1`,
      )
      const tags = [{ squid, tag, name: 'Sample' }]
      return { body: { isEnabled: true, title: 'Sample', slug: 'sample-status', tags, alertKinds: [] } }
    },
  ],
  'domains.add': [
    async (context) => {
      const { squid } = await firstRow(
        context,
        `select name as squid from squids where org_id = $1 and desired_state = 'running' limit 1`,
      )
      return { body: { name: 'new.example.com', squid, tag: 'prod' } }
    },
  ],
  'domains.check': [domain],
  'domains.remove': [domain],
}
