import { can, isCardAdded, isUnpaid, type Squid, type SquidSummary } from '@shoal/contract'
import type { App } from '../../../app.ts'
import type { OrgScope } from '../../call.ts'
import { listSecretNames } from '../../secrets/index.ts'
import { readerConnection } from '../../databases/index.ts'
import { presentSquid, presentSummary, type SquidFacts } from './present.ts'
import { listSummaryRows, type PresentedRow } from './present-store.ts'
import { readVersionDetails } from '../../observing/index.ts'

export type SquidWithOrg = { squid: PresentedRow; org: SquidFacts['org'] }

/**
 * Presents the versions in the given order, without the credentials of their databases. The number of queries does not depend on the
 * number of versions.
 */
export async function presentSquids(app: App, squids: SquidWithOrg[]): Promise<Squid[]> {
  const factsOf = await readFacts(app, squids)
  const nowMs = app.clock.now().getTime()
  return squids.map((squid) => presentSquid(app.config, factsOf(squid), nowMs))
}

/** Presents one version, with the database credentials that the caller may use. */
export async function presentOneSquid(app: App, org: OrgScope, squid: PresentedRow): Promise<Squid> {
  const factsOf = await readFacts(app, [{ squid, org }])
  const connection = mayConnect(org, squid) ? await readerConnection(app, squid.id) : null
  const facts = { ...factsOf({ squid, org }), connections: connection ? [connection] : [] }
  return presentSquid(app.config, facts, app.clock.now().getTime())
}

/**
 * Whether the caller receives the connection to the database: a member with `credentials.read` in an organization on the Pro plan
 * (spec 2.9) that is not in debt, while the version's desired state is `running`.
 */
const mayConnect = (org: OrgScope, squid: PresentedRow): boolean =>
  can(org, 'credentials.read') &&
  !org.isPlayground &&
  isCardAdded(org.status) &&
  !isUnpaid(org.status) &&
  squid.desiredState === 'running'

/**
 * Presents the versions of an organization, all or those with these ids, as lists show them. Reads only the columns that lists
 * show, because the console polls this list.
 */
export async function presentSummaries(app: App, org: SquidFacts['org'], ids?: number[]): Promise<SquidSummary[]> {
  const selector = { orgId: org.id, ids }
  const [rows, detailsOf] = await Promise.all([listSummaryRows(app.db, selector), readVersionDetails(app.db, selector)])
  const nowMs = app.clock.now().getTime()
  return rows.map((squid) => presentSummary(app.config, { squid, org, connections: [], ...detailsOf(squid.id) }, nowMs))
}

async function readFacts(app: App, squids: SquidWithOrg[]): Promise<(squid: SquidWithOrg) => SquidFacts> {
  const orgIds = [...new Set(squids.map(({ org }) => org.id))]
  const [detailsOf, secrets] = await Promise.all([
    readVersionDetails(app.db, { squidIds: squids.map(({ squid }) => squid.id) }),
    Promise.all(orgIds.map((id) => listSecretNames(app, id))),
  ])
  const secretsOf = new Map(
    orgIds.map((id, i) => [id, new Map((secrets[i] ?? []).map((secret) => [secret.name, secret.updatedAt]))]),
  )
  return ({ squid, org }) => ({
    squid,
    org,
    connections: [],
    ...detailsOf(squid.id),
    secrets: secretsOf.get(org.id) ?? new Map(),
  })
}
