import { can, isCardAdded, isUnpaid, type Squid, type SquidSummary } from '@shoal/contract'
import type { App } from '../../../app.ts'
import type { OrgScope } from '../../call.ts'
import { listSecretNames } from '../../secrets/index.ts'
import { readerConnection } from '../../databases/index.ts'
import { presentSquid, presentSummary, type SquidFacts } from './present.ts'
import { listSummaryRows, type PresentedRow } from './present-store.ts'
import { readParts } from '../../observing/index.ts'

export type SquidOfOrg = { squid: PresentedRow; org: SquidFacts['org'] }

/**
 * Presents the versions in the given order, without the credentials of their databases. The number of queries does not depend on the
 * number of versions.
 */
export async function presentSquids(app: App, found: SquidOfOrg[]): Promise<Squid[]> {
  const factsOf = await readFacts(app, found)
  const nowMs = app.clock.now().getTime()
  return found.map((of) => presentSquid(app.config, factsOf(of), nowMs))
}

/** Presents one version, with the database credentials that the caller may use. */
export async function presentOneSquid(app: App, org: OrgScope, squid: PresentedRow): Promise<Squid> {
  const factsOf = await readFacts(app, [{ squid, org }])
  const connections = mayConnect(org, squid) ? await readerConnection(app, squid.id) : null
  const facts = { ...factsOf({ squid, org }), connections: connections ? [connections] : [] }
  return presentSquid(app.config, facts, app.clock.now().getTime())
}

/** Access to databases is part of the Pro plan (spec 2.9), for members who may see credentials. */
const mayConnect = (org: OrgScope, squid: PresentedRow): boolean =>
  can(org, 'credentials.read') &&
  !org.isPlayground &&
  isCardAdded(org.status) &&
  !isUnpaid(org.status) &&
  squid.wanted === 'running'

/**
 * The versions of an organization as lists show them: all, or those with these ids. The console polls this, so it reads only the
 * columns that it returns.
 */
export async function presentSummaries(app: App, org: SquidFacts['org'], ids?: number[]): Promise<SquidSummary[]> {
  const selector = { orgId: org.id, ids }
  const [rows, partsOf] = await Promise.all([listSummaryRows(app.db, selector), readParts(app.db, selector)])
  const nowMs = app.clock.now().getTime()
  return rows.map((squid) => presentSummary(app.config, { squid, org, connections: [], ...partsOf(squid.id) }, nowMs))
}

async function readFacts(app: App, found: SquidOfOrg[]): Promise<(of: SquidOfOrg) => SquidFacts> {
  const orgIds = [...new Set(found.map(({ org }) => org.id))]
  const [partsOf, secrets] = await Promise.all([
    readParts(app.db, { squidIds: found.map(({ squid }) => squid.id) }),
    Promise.all(orgIds.map((id) => listSecretNames(app, id))),
  ])
  const secretsOf = new Map(
    orgIds.map((id, i) => [id, new Map((secrets[i] ?? []).map((secret) => [secret.name, secret.updatedAt]))]),
  )
  return ({ squid, org }) => ({
    squid,
    org,
    connections: [],
    ...partsOf(squid.id),
    secrets: secretsOf.get(org.id) ?? new Map(),
  })
}
