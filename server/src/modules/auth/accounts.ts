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

/** How an account comes to be, with the organization that belongs to it: given from outside, since organizations stand on this module. */
export type Accounts = { createUser: (app: App, account: NewAccount) => Promise<{ id: number }> }
