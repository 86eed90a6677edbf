import type { App } from '../../app.ts'
import { notFound } from '../../errors.ts'
import { findOrgByCode, lockOrg, type OrgRow } from '../orgs/index.ts'

/** Finds an organization and locks it until the caller's transaction ends. @throws Refusal 404 */
export async function lockOrgByCode(app: Pick<App, 'db'>, code: string): Promise<OrgRow> {
  const found = await findOrgByCode(app.db, code.toLowerCase())
  const org = found && (await lockOrg(app.db, found.id))
  if (!org) throw notFound('Organization')
  return org
}
