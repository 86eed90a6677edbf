import { orgStatuses, tokenScopes } from '@shoal/contract'
import type { App } from '../app.ts'
import { findConfirmedAccount, operatorAuth, passwords } from '../modules/auth/index.ts'
import { recordAudit } from '../modules/audit/index.ts'
import { revocationReasons, revokeCertificateOf } from '../modules/certificates/index.ts'
import { setDiscount, setStatus as setOrgStatus } from '../modules/billing/index.ts'
import { createOrg, findOrgByCode, listOrgsOf } from '../modules/orgs/index.ts'
import { createApiToken, createUser } from '../modules/user/index.ts'
import type { Command } from './command.ts'

export type CliOptions = Record<'email' | 'name' | 'code' | 'status' | 'percent', string> & {
  /** Not an argument: what --password-stdin read. */
  password?: string
  scope?: string
  reason?: string
  search?: string
  off?: boolean
  /** A version, as `organization/name@slot`. */
  squid?: string
  from?: string
  to?: string
  estimate?: boolean
  force?: boolean
  profile?: string
  storage?: string
  'storage-class'?: string
  instances?: string
  'object-store'?: string
}
type Result = Promise<Record<string, unknown>>

/**
 * Creates a user. Returns `{id, email, playground: {code}}`, and without --password-stdin the generated `password` and when it expires.
 */
export async function addUser(app: App, { email, name, password }: CliOptions): Result {
  const generated = password === undefined ? passwords.generate(app) : null
  const user = await createUser(app, {
    email: email.toLowerCase(),
    fullName: name,
    password: password ?? generated?.password ?? null,
    generatedPasswordUntil: generated?.until ?? null,
    emailVerified: true,
  })
  return {
    id: user.id,
    email: user.email,
    playground: { code: user.playground.code },
    ...(generated && { password: generated.password, passwordExpiresAt: generated.until }),
  }
}

/** Gives a user a generated password, and ends all other credentials of the account. Returns `{email, password, passwordExpiresAt}`. */
export async function resetUserPassword(app: App, { email }: CliOptions): Result {
  const subject = email.toLowerCase()
  const reset = await passwords.reset(app, subject, async (tx, userId) => {
    const orgs = await listOrgsOf(tx, { userId, tokenOrgId: null })
    const row = { at: app.clock.now(), action: 'cli.resetPassword', subject, after: { userId } }
    for (const { id } of orgs) await recordAudit(tx, { ...row, orgId: id })
  })
  if (!reset) throw new Error(`There is no user ${email}. Create one with: user add --email ${email} --name <name>`)
  return { email: email.toLowerCase(), password: reset.password, passwordExpiresAt: reset.until }
}

/** Opens the operator's console to a user, or closes it with --off. Returns `{email, isOperator}`. */
export async function setUserOperator(app: App, { email, off = false }: CliOptions): Result {
  const isOperator = !off
  if (!(await operatorAuth.setOperator(app.db, email.toLowerCase(), isOperator)))
    throw new Error(`There is no user ${email}. Create one with: user add --email ${email} --name <name>`)
  await recordAudit(app.db, {
    at: app.clock.now(),
    action: 'cli.setOperator',
    subject: email.toLowerCase(),
    after: { isOperator },
  })
  return { email: email.toLowerCase(), isOperator }
}

/** Creates an API token. Returns `{token}`, which cannot be read again later. `code`: the only organization of the token; default: all. */
export async function addUserToken(app: App, { email, name, scope = 'deploy', code }: CliOptions): Result {
  const user = await findConfirmedAccount(app.db, email.toLowerCase())
  if (!user) throw new Error(`There is no user ${email}. Create one with: user add --email ${email} --name <name>`)
  const tokenScope = tokenScopes.find((known) => known === scope)
  if (!tokenScope) throw new Error(`--scope must be one of ${tokenScopes.join(', ')}`)
  const { token } = await createApiToken(app, {
    userId: user.id,
    name,
    expiresAt: null,
    scope: tokenScope,
    organization: code || null,
  })
  return { token }
}

/** Creates an organization whose admin is the user of --email. Returns `{id, code, name, status}`. */
export async function addOrgWithAdmin(app: App, { code, name, email }: CliOptions): Result {
  const user = await findConfirmedAccount(app.db, email.toLowerCase())
  if (!user) throw new Error(`There is no user ${email}.`)
  const org = await createOrg(app, { code, name, email: email.toLowerCase(), adminId: user.id })
  return { id: org.id, code: org.code, name: org.name, status: org.status }
}

/**
 * Sets the account status. This has the same effects as a change by billing: TERMINATED hibernates all versions, ACTIVE restarts them.
 * Returns `{code, status}`.
 */
export async function setOrgBillingStatus(app: App, { code, status }: CliOptions): Result {
  const newStatus = orgStatuses.find((s) => s === status.toUpperCase())
  if (!newStatus) throw new Error(`--status must be one of ${orgStatuses.join(', ')}`)
  const org = await findOrgByCode(app.db, code)
  if (!org) throw new Error(`There is no organization ${code}.`)
  await setOrgStatus(app, org.id, newStatus)
  return { code: org.code, status: newStatus }
}

/** Sets the discount on all usage of an organization. Returns `{code, discountPercent}`. */
export async function setOrgDiscount(app: App, { code, percent }: CliOptions): Result {
  const org = await findOrgByCode(app.db, code)
  if (!org) throw new Error(`There is no organization ${code}.`)
  return { code: org.code, discountPercent: await setDiscount(app, org.id, percent) }
}

/** Revokes the certificate of a name and orders another one immediately; a worker does both. Returns `{name, reason}`. */
export async function revokeCertificate(app: App, { name, reason = 'keyCompromise' }: CliOptions): Result {
  const known = revocationReasons.find((candidate) => candidate === reason)
  if (!known) throw new Error(`--reason must be one of ${revocationReasons.join(', ')}`)
  return await app.db.transaction(async () => {
    if (!(await revokeCertificateOf(app, name.toLowerCase(), known)))
      throw new Error(`This installation has no certificate for ${name} that it ordered.`)
    await recordAudit(app.db, {
      at: app.clock.now(),
      action: 'cli.revokeCertificate',
      subject: name.toLowerCase(),
      after: { reason: known },
    })
    return { name: name.toLowerCase(), reason: known }
  })
}

/** The commands about users and their API tokens. */
export const accountCommands: Record<string, Command> = {
  'user add': {
    run: addUser,
    options: ['email', 'name'],
    flags: ['password-stdin'],
    summary:
      'create a user with a confirmed email and a playground; prints a generated password, which the user must change within a week, unless --password-stdin reads one from standard input, or prompts for it at a terminal',
  },
  'user reset-password': {
    run: resetUserPassword,
    options: ['email'],
    positional: 'email',
    summary:
      'give a user a generated password, which the user must change within a week; ends the sessions and API tokens of the account',
  },
  'user set-operator': {
    run: setUserOperator,
    options: ['email'],
    positional: 'email',
    flags: ['off'],
    summary: "open the operator's console (/admin) to a user; --off closes it immediately",
  },
  'token add': {
    run: addUserToken,
    options: ['email', 'name'],
    optional: ['scope', 'code'],
    summary: `create an API token for a user and print it; --scope: ${tokenScopes.join(', ')} (default: deploy); --code: only for this organization`,
  },
}
