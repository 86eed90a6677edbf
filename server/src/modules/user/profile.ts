import type { User } from '@shoal/contract'
import type { App } from '../../app.ts'
import { listOrgsOf, orgAnswer } from '../orgs/index.ts'
import type { UserRow } from './store.ts'

/** The account as its owner sees it. */
export async function profileOf(app: App, user: UserRow): Promise<User> {
  const orgs = await listOrgsOf(app.db, user.id)
  return {
    id: user.id,
    email: user.email,
    username: user.email.split('@')[0] ?? user.email,
    fullName: user.fullName,
    emailVerified: user.emailVerified,
    avatarUrl: user.avatarUrl,
    policyAccepted: user.policyAccepted,
    onboardingForm: user.onboardingForm,
    organizations: orgs.map((org) => orgAnswer(org, org.roleType)),
  }
}
