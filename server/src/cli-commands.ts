import { orgStatuses } from '@shoal/contract'
import { randomBytes } from 'node:crypto'
import type { App } from './app.ts'
import { readiness } from './health/readiness.ts'
import { countInstallation } from './health/status-store.ts'
import { setDiscount, setStatus as setOrgStatus } from './modules/billing/index.ts'
import { createOrg, findOrgByCode } from './modules/orgs/index.ts'
import { createApiToken, createUser, findUserByEmail } from './modules/user/index.ts'

export type CliOptions = Record<'email' | 'name' | 'password' | 'code' | 'status' | 'percent', string>
type Answer = Promise<Record<string, unknown>>

/** `{id, email, playground: {code}}`; without --password one is made and printed. */
export async function addUser(app: App, { email, name, password }: CliOptions): Answer {
  const chosen = password || randomBytes(12).toString('base64url')
  const made = await createUser(app, {
    email: email.toLowerCase(),
    fullName: name,
    password: chosen,
    emailVerified: true,
  })
  return {
    id: made.id,
    email: made.email,
    playground: { code: made.playground.code },
    ...(password ? {} : { password: chosen }),
  }
}

/** `{token}`, this once. */
export async function addToken(app: App, { email, name }: CliOptions): Answer {
  const user = await findUserByEmail(app.db, email.toLowerCase())
  if (!user) throw new Error(`There is no user ${email}. Make one with: user add --email ${email} --name <name>`)
  const { token } = await createApiToken(app, { userId: user.id, name, expiresAt: null })
  return { token }
}

/** `{id, code, name}`; the user of --email becomes its admin. */
export async function addOrg(app: App, { code, name, email }: CliOptions): Answer {
  const user = await findUserByEmail(app.db, email.toLowerCase())
  if (!user) throw new Error(`There is no user ${email}.`)
  const org = await createOrg(app, { code, name, email: email.toLowerCase(), adminId: user.id })
  return { id: org.id, code: org.code, name: org.name, status: org.status }
}

/** As if billing had moved it there: TERMINATED hibernates the organization's versions, ACTIVE wakes them. */
export async function setOrgBillingStatus(app: App, { code, status }: CliOptions): Answer {
  const wanted = orgStatuses.find((s) => s === status.toUpperCase())
  if (!wanted) throw new Error(`--status must be one of ${orgStatuses.join(', ')}`)
  const org = await findOrgByCode(app.db, code)
  if (!org) throw new Error(`There is no organization ${code}.`)
  await setOrgStatus(app, org.id, wanted)
  return { code: org.code, status: wanted }
}

/** Of all an organization uses. */
export async function setOrgDiscount(app: App, { code, percent }: CliOptions): Answer {
  const org = await findOrgByCode(app.db, code)
  if (!org) throw new Error(`There is no organization ${code}.`)
  return { code: org.code, discountPercent: await setDiscount(app, org.id, percent) }
}

export async function status(app: App): Answer {
  return { ...(await readiness(app)).checks, ...(await countInstallation(app.db)) }
}
