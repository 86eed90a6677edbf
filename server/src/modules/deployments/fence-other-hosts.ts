import type { WorkerApp } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import { isUnfenced, setFenced } from '../../installation/host-claim-store.ts'
import { logins } from '../databases/index.ts'
import { openWorkload, sealWorkload, selectSquid, updateSquid } from '../versions/index.ts'
import { replaceInEnvironment } from './processor-logins.ts'
import { saveSealedWorkload, selectUnfinished } from './store.ts'

/**
 * Prevents programs that may still run on the previous host of the squids from writing to the databases: changes the password of each
 * database owner, ends the owner's sessions, and replaces the password in the stored workloads. The active worker calls this after it has
 * claimed the squids, before it starts any squid. If the worker is interrupted, the next one repeats the call.
 * @throws DatabaseError if Shoal's role may not change the passwords or end the sessions; Error if sessions do not end
 */
export async function fenceOtherHosts(app: WorkerApp): Promise<void> {
  if (!app.runtime.ownsHost || !(await isUnfenced(app.db))) return
  await logins.renewOwnerPasswords(app, async (tx, { squidId, oldPassword, password }) => {
    const replace = (sealed: string) => {
      const workload = openWorkload(app.sealer, squidId, sealed)
      const containers = workload.containers.map((spec) => replaceInEnvironment(spec, [[oldPassword, password]]))
      return sealWorkload(app.sealer, squidId, { ...workload, containers })
    }
    await replaceWorkloads(tx, squidId, replace)
  })
  await setFenced(app.db)
}

/** Changes the workload of the version, and that of its deployment in progress. */
async function replaceWorkloads(tx: Db, squidId: number, replace: (sealed: string) => string): Promise<void> {
  const squid = await selectSquid(tx, squidId)
  if (squid?.sealedWorkload) await updateSquid(tx, squidId, { sealedWorkload: replace(squid.sealedWorkload) })
  const deployment = await selectUnfinished(tx, squidId)
  const { sealedWorkload } = deployment?.notes ?? {}
  if (deployment && sealedWorkload) await saveSealedWorkload(tx, deployment.id, replace(sealedWorkload))
}
