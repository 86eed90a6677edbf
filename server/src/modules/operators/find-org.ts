import type { App } from '../../app.ts'
import { notFound } from '../../errors.ts'
import { findOrgByCode, lockOrg, type OrgRow } from '../orgs/index.ts'

/** Locks an organization until the caller's transaction ends, and returns it. @throws Refusal 404 for an unknown code */
export async function lockOrgByCode(app: Pick<App, 'db'>, code: string): Promise<OrgRow> {
  const found = await findOrgByCode(app.db, code.toLowerCase())
  const org = found && (await lockOrg(app.db, found.id))
  if (!org) throw notFound('Organization')
  return org
}
