import type { RoleType } from '@shoal/contract'
import type { App } from '../../app.ts'
import { addRole } from './store.ts'

/** Makes somebody a member without an invitation; answers the id of the role. For the operator and tests. */
export async function addMember(
  app: App,
  given: { orgId: number; userId: number; type: RoleType },
): Promise<number> {
  const role = await addRole(app.db, { ...given, createdAt: app.clock.now() })
  return role.id
}
