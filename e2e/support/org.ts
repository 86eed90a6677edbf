import type { Client, Contract } from '@shoal/contract'
import type { Shoal } from './shoal.ts'

export const adminPassword = 'correct-horse'

/** An organization with its administrator. `token` is an API token with the default scope, for the public client; `api` uses a token with the scope `admin`. */
export type Org = { id: number; org: string; email: string; token: string; api: Client<Contract> }

/**
 * Creates an active organization whose administrator has an API token. Uses the operator's command line only if the
 * API cannot do it, because each command starts a process that loads the whole server.
 */
export async function addOrg({ cli, as }: Pick<Shoal, 'cli' | 'as'>, org: string): Promise<Org> {
  const email = `admin@${org}.dev`
  await cli('user', 'add', '--email', email, '--name', 'Mira', '--password-stdin', { input: adminPassword })
  const { token: session } = await as('').auth.signIn({ body: { email, password: adminPassword } })
  const { id } = await as(session).orgs.create({ body: { code: org, name: org, email } })
  await cli('org', 'set-status', '--code', org, '--status', 'ACTIVE')
  const { token } = await as(session).user.createApiToken({ body: { name: 'laptop', expiresAt: null } })
  const admin = await as(session).user.createApiToken({ body: { name: 'setup', expiresAt: null, scope: 'admin' } })
  return { id, org, email, token, api: as(admin.token) }
}
