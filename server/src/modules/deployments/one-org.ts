import type { WorkerApp } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import { refuse } from '../../errors.ts'
import { lockIfForOneOrg, setForOneOrg } from '../../installation/host-claim-store.ts'
import { listOrgsWithSquids } from '../versions/index.ts'

/**
 * Records whether only one organization may deploy, because squids share the network of their host and the operator has not
 * allowed that for several organizations. Called by the active worker when its runtime has started, before it starts deployments; the
 * record applies to every process of the installation, even while no worker runs.
 * @returns warnings for the operator
 */
export async function limitToOneOrg({ config, db, runtime }: WorkerApp): Promise<string[]> {
  const isForOneOrg = runtime.sharesNetwork && !config.SHOAL_ALLOW_SHARED_NETWORK
  await setForOneOrg(db, isForOneOrg)
  if (!isForOneOrg) return []
  const { length: orgCount } = await listOrgsWithSquids(db)
  return [
    'Only one organization can deploy, because squids share the network of this host: the first that deploys, until its last version is deleted. Set SHOAL_ALLOW_SHARED_NETWORK=1 if all organizations trust each other.',
    ...(orgCount > 1
      ? [
          `${orgCount} organizations have versions. They keep running, but only the organization of the oldest can deploy.`,
        ]
      : []),
  ]
}

/** Returns why an organization may not start new code on this installation, and what its operator can do; null when it may. */
export async function otherOrgRefusal(db: Db, orgId: number): Promise<string | null> {
  if (!(await lockIfForOneOrg(db))) return null
  const [holder] = await listOrgsWithSquids(db)
  return holder === undefined || holder === orgId ? null : oneOrgOnly
}

const oneOrgOnly =
  'This installation runs squids of one organization only, and another one already uses it: its host cannot give each version its own network. Its operator can run the server as root on a host with iproute2 and nftables, or as another user with bubblewrap, passt and nftables, or set SHOAL_ALLOW_SHARED_NETWORK=1 if the organizations trust each other.'

/** Checks that the organization may start new code. @throws Refusal 405 with the text of `otherOrgRefusal` */
export async function checkOnlyOrg(db: Db, orgId: number): Promise<void> {
  const reason = await otherOrgRefusal(db, orgId)
  if (reason) throw refuse('ONE_ORGANIZATION_ONLY', reason)
}
