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

/** Creates accounts with their playground; injected, because organizations depend on this module. */
export type Accounts = { createUser: (app: App, account: NewAccount) => Promise<{ id: number }> }
