import type { OrgStatus, RoleType } from '@shoal/contract'
import { randomBytes } from 'node:crypto'
import type { App } from '../app.ts'
import { startSession } from '../modules/auth/index.ts'
import { addMember, createOrg, setOrgStatus } from '../modules/orgs/index.ts'
import { createApiToken, createUser } from '../modules/user/index.ts'

/** A user who is signed in. */
export type TestUser = {
  id: number
  email: string
  fullName: string
  /** The token of a session. */
  token: string
  playground: { code: string }
}

export type TestOrg = { id: number; code: string; name: string; admin: TestUser & { roleId: number } }

export type Make = ReturnType<typeof maker>

const word = () => randomBytes(5).toString('hex')

/** Factories for users and organizations of tests, built on the server's own functions. */
export function maker(app: App) {
  const user = async (
    given: { email?: string; fullName?: string; password?: string; emailVerified?: boolean; isNewcomer?: boolean } = {},
  ): Promise<TestUser> => {
    const made = await createUser(app, {
      email: given.email ?? `user-${word()}@example.com`,
      fullName: given.fullName ?? 'Ada Lovelace',
      password: given.password ?? null,
      emailVerified: given.emailVerified ?? true,
      policyAccepted: !given.isNewcomer,
    })
    const session = await startSession(app, app.db, made.id, { userAgent: 'tests', ip: '127.0.0.1' })
    return { id: made.id, email: made.email, fullName: made.fullName, token: session, playground: made.playground }
  }
  /** ACTIVE by default, so that it may deploy. */
  const org = async (
    given: { code?: string; name?: string; admin?: TestUser; status?: OrgStatus } = {},
  ): Promise<TestOrg> => {
    const admin = given.admin ?? (await user())
    const code = given.code ?? `org-${word()}`
    const made = await createOrg(app, {
      code,
      name: given.name ?? `Org ${code}`,
      email: admin.email,
      adminId: admin.id,
    })
    await setOrgStatus(app, made.id, given.status ?? 'ACTIVE')
    return { id: made.id, code, name: made.name ?? code, admin: { ...admin, roleId: made.adminRoleId } }
  }
  const member = async (of: Pick<TestOrg, 'id'>, type: RoleType, given?: TestUser) => {
    const person = given ?? (await user())
    return { ...person, roleId: await addMember(app, { orgId: of.id, userId: person.id, type }) }
  }
  /** Creates an API token and returns its key. */
  const token = async (of: Pick<TestUser, 'id'>, given: { name?: string; expiresAt?: Date } = {}): Promise<string> =>
    (
      await createApiToken(app, {
        userId: of.id,
        name: given.name ?? `token ${word()}`,
        expiresAt: given.expiresAt ?? null,
      })
    ).token
  /** Sets the billing status. */
  const status = (of: Pick<TestOrg, 'id'>, newStatus: OrgStatus) => setOrgStatus(app, of.id, newStatus)
  return { user, org, member, token, status }
}
