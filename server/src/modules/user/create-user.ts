import type { App } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import { invalidField } from '../../errors.ts'
import { addAccount, passwords } from '../auth/index.ts'
import { createPlayground } from '../orgs/index.ts'
import type { UserRow } from './store.ts'

export type NewUser = {
  /** Lower case. */
  email: string
  fullName: string
  /** Null for users who only sign in with a provider. */
  password: string | null
  /** When the password expires, if the operator's command generated it. */
  generatedPasswordUntil?: Date | null
  emailVerified: boolean
  avatarUrl?: string | null
  policyAccepted?: boolean
  subscribesNewsletter?: boolean
}

/**
 * Creates an account and its playground in one transaction.
 * @throws Refusal 400 for the field `email` if `emailVerified` is set and another account has confirmed this email
 */
export async function createUser(app: App, input: NewUser): Promise<UserRow & { playground: { code: string } }> {
  const { password, ...columns } = input
  const passwordHash = password === null ? null : await passwords.hash(password)
  return app.db.transaction((tx) => addUserWithPlayground(tx, { ...columns, passwordHash }, app.clock.now()))
}

type NewUserColumns = Omit<NewUser, 'password'> & { passwordHash: string | null }

async function addUserWithPlayground(db: Db, input: NewUserColumns, now: Date) {
  const user = await addAccount(db, {
    ...input,
    generatedPasswordHash: input.generatedPasswordUntil ? input.passwordHash : null,
    emailProvenAt: input.emailVerified ? now : null,
    createdAt: now,
  })
  if (!user) throw invalidField('email', `The email ${input.email} already has an account.`)
  const playground = await createPlayground(db, user.id, now)
  return { ...user, playground: { code: playground.code } }
}
