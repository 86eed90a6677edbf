import type { Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import { withNotYet } from '../auth/not-yet.ts'
import type { Handlers } from '../call.ts'
import { orgAnswer } from './org-answer.ts'
import { getOrg, listOrgsOf } from './store.ts'

export function orgsHandlers(app: App): Handlers<Contract['orgs']> {
  return withNotYet({
    list: async ({ actor }) => (await listOrgsOf(app.db, actor.userId)).map((org) => orgAnswer(org, org.roleType)),
    get: async ({ org }) => orgAnswer(await getOrg(app.db, org.id), org.roleType),
  } as Partial<Handlers<Contract['orgs']>>)
}
