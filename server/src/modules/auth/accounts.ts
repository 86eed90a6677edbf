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

/** Creates an account with its playground. The caller passes this function, because the module that creates organizations depends on this one. */
export type Accounts = { createUser: (app: App, account: NewAccount) => Promise<{ id: number }> }
