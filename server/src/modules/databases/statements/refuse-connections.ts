import type { Database } from '../../../db/database.ts'
import { setConnectionLimits } from '../connections-store.ts'
import { rolesOn } from '../measuring/writers-store.ts'

/** Makes a server refuse new connections of these databases' roles, until `limitConnections` sets their limits again. */
export async function refuseConnections(
  cluster: Database,
  databases: { role: string; readRole: string }[],
): Promise<void> {
  const limits = new Map<string, number>()
  for (const database of databases) for (const role of await rolesOn(cluster, database)) limits.set(role, 0)
  await setConnectionLimits(cluster, limits)
}
