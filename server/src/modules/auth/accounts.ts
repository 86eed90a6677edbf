import type { App } from '../../app.ts'

export type NewAccount = {
  email: string
  fullName: string
  password: string | null
  emailVerified: boolean
  avatarUrl?: string | null
  policyAccepted?: boolean
  subscribesNewsletter?: boolean
}

/**
 * Creates an account with its playground. The handlers of `auth` receive this function instead of importing it, because `orgs`, which
 * creates the playground, imports `auth`.
 */
export type Accounts = { createUser: (app: App, account: NewAccount) => Promise<{ id: number }> }
