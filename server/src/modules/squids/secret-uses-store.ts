// Reads tables of other modules: squids. Selects the few columns that the list of secrets needs.

import { and, asc, eq, isNotNull } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { squids } from '../versions/index.ts'

/** Returns the versions of the organization that were deployed with its secrets, ordered by name and slot. */
export function listVersionsWithSecrets(db: Db, orgId: number) {
  const { name, slot, desiredState, secretNames, secretsReadAt, manifestCurrent } = squids
  return db
    .select({ name, slot, desiredState, secretNames, secretsReadAt, manifestCurrent })
    .from(squids)
    .where(and(eq(squids.orgId, orgId), isNotNull(secretsReadAt)))
    .orderBy(asc(name), asc(slot))
}
