import type { OrgStatus, RoleType, TokenScope } from '@shoal/contract'
import { randomBytes } from 'node:crypto'
import type { App } from '../app.ts'
import { operatorAuth } from '../modules/auth/index.ts'
import { startSession } from '../modules/auth/sessions.ts'
import { createOrg, setOrgStatus } from '../modules/orgs/index.ts'
import { addRole } from '../modules/orgs/role-store.ts'
import { createApiToken, createUser } from '../modules/user/index.ts'

/** A signed-in user. */
export type TestUser = {
  id: number
  email: string
  fullName: string
  /** The token of the user's session. */
  token: string
  playground: { code: string }
}

export type TestOrg = { id: number; code: string; name: string; admin: TestUser & { roleId: number } }

export type Make = ReturnType<typeof createFactories>

const randomWord = () => randomBytes(5).toString('hex')

/** Factories for users and organizations of tests, built on the server's own functions. */
export function createFactories(app: App) {
  const user = async (
    options: {
      email?: string
      fullName?: string
      password?: string
      emailVerified?: boolean
      /** Whether the user has not accepted the terms yet. Default: false. */
      isNew?: boolean
    } = {},
  ): Promise<TestUser> => {
    const created = await createUser(app, {
      email: options.email ?? `user-${randomWord()}@example.com`,
      fullName: options.fullName ?? 'Ada Lovelace',
      password: options.password ?? null,
      emailVerified: options.emailVerified ?? true,
      policyAccepted: !options.isNew,
    })
    const session = await startSession(app, app.db, created.id, { userAgent: 'tests', ip: '127.0.0.1' })
    return {
      id: created.id,
      email: created.email,
      fullName: created.fullName,
      token: session,
      playground: created.playground,
    }
  }
  /** Creates an operator who has not entered the password in the session. */
  const operator = async (options: { password?: string } = {}): Promise<TestUser> => {
    const created = await user(options)
    await operatorAuth.setOperator(app.db, created.email, true)
    return created
  }
  /** Creates an organization; ACTIVE by default, so that it may deploy. */
  const org = async (
    options: { code?: string; name?: string; admin?: TestUser; status?: OrgStatus } = {},
  ): Promise<TestOrg> => {
    const admin = options.admin ?? (await user())
    const code = options.code ?? `org-${randomWord()}`
    const created = await createOrg(app, {
      code,
      name: options.name ?? `Org ${code}`,
      email: admin.email,
      adminId: admin.id,
    })
    await setOrgStatus(app, created.id, options.status ?? 'ACTIVE')
    return { id: created.id, code, name: created.name ?? code, admin: { ...admin, roleId: created.adminRoleId } }
  }
  const member = async ({ id: orgId }: Pick<TestOrg, 'id'>, type: RoleType, existing?: TestUser) => {
    const newMember = existing ?? (await user())
    const { id: roleId } = await addRole(app.db, { orgId, userId: newMember.id, type, createdAt: app.clock.now() })
    return { ...newMember, roleId }
  }
  /** Creates an API token, by default with all rights in all organizations, and returns its key. */
  const token = async (
    { id: userId }: Pick<TestUser, 'id'>,
    options: { name?: string; expiresAt?: Date; scope?: TokenScope; organization?: string } = {},
  ): Promise<string> =>
    (
      await createApiToken(app, {
        userId,
        name: options.name ?? `token ${randomWord()}`,
        expiresAt: options.expiresAt ?? null,
        scope: options.scope ?? 'admin',
        organization: options.organization ?? null,
      })
    ).token
  /** Sets the account status of an organization. */
  const status = ({ id }: Pick<TestOrg, 'id'>, newStatus: OrgStatus) => setOrgStatus(app, id, newStatus)
  return { user, operator, org, member, token, status }
}
