import type { App } from '../../app.ts'
import { days, hours, minutes } from '../../clock.ts'
import { every } from '../../db/every.ts'
import { measured } from '../../health/loops.ts'
import { runAsLeader, type LeaderHandle } from '../../db/leases.ts'
import { removeName, addName } from '../certificates/index.ts'
import { checkDns, type DnsResult, type RecordChecks } from './check-dns.ts'
import { gatewayNameOf } from './gateway-name.ts'
import { deleteDomain, selectActive, selectDueDomains, selectReleased, updateDomain, type DomainRow } from './store.ts'

export type DomainsApp = Pick<App, 'db' | 'clock' | 'config' | 'log' | 'jobs'>

const roundMs = 2_000
/** The maximum number of domains that a round checks, concurrently: so many that a few silent DNS servers do not delay the others. */
const maxChecks = 32
/** How long a domain stays active after its last successful check, while DNS has no records or does not respond. */
const missingGraceMs = days(1)
const unknownGraceMs = days(7)
const activeIntervalMs = hours(1)
/** An inactive domain is checked regularly for this time after a member added it; afterwards only when a member requests it. */
export const maxWaitMs = days(7)
/** The delay of the next check of a domain that is checked only when a member requests it. */
const neverMs = days(3650)

/** Returns when the records are checked again; null if only when a member requests it. */
export const plannedCheck = ({ nextCheckAt }: DomainRow, now: Date): Date | null =>
  nextCheckAt.getTime() - now.getTime() > neverMs / 2 ? null : nextCheckAt

/** Checks the records of domains in one process of the installation. Does nothing without SHOAL_TLS=acme. */
export function startDomains(app: App): LeaderHandle {
  if (app.config.tls?.source.kind !== 'acme') return { close: async () => undefined }
  return runAsLeader(app.database, app.log, 'domains', async (_, signal) => {
    const onError = (err: unknown) => app.log.warn({ err }, 'domains could not be checked')
    await every(
      signal,
      { ms: roundMs, onError },
      measured(app, 'domains', roundMs, () => checkDueDomains(app)),
    )
  })
}

/** Deletes the domains of deleted squids and organizations, and checks the records of the domains that are due. */
export async function checkDueDomains(app: DomainsApp): Promise<void> {
  for (const row of await selectReleased(app.db, maxChecks)) await releaseDomain(app, row)
  const due = await selectDueDomains(app.db, app.clock.now(), maxChecks)
  const results = await Promise.all(due.map((row) => checkOne(app, row)))
  // One at a time, because two organizations may have proven control of the same name.
  for (const [i, row] of due.entries()) {
    const result = results[i]
    if (result) await applyResult(app, row, result)
  }
}

/** Deletes an organization's domain. If the domain was active, deletes and revokes its certificate as well. */
export async function releaseDomain(
  app: Pick<App, 'db' | 'jobs'>,
  row: Pick<DomainRow, 'orgId' | 'name'>,
): Promise<void> {
  await app.db.transaction(async () => {
    if (await deleteDomain(app.db, row)) await removeName(app, row.name)
  })
}

const checkOne = ({ config }: DomainsApp, { name, proof }: DomainRow): Promise<DnsResult> =>
  checkDns(name, proof, gatewayNameOf(config), config.dnsServers)

async function applyResult(app: DomainsApp, row: DomainRow, result: DnsResult): Promise<void> {
  const now = app.clock.now()
  if (result.status === 'proven') return await activate(app, row, result.checks, now)
  const graceMs = result.status === 'unknown' ? unknownGraceMs : missingGraceMs
  const mustDeactivate = row.isActive && now.getTime() - (row.provenAt?.getTime() ?? 0) > graceMs
  if (mustDeactivate) app.log.warn({ name: row.name, problem: result.problem }, 'a domain was deactivated')
  await updateDomain(app.db, row, {
    problem: result.problem,
    recordChecks: result.checks,
    checkedAt: now,
    nextCheckAt: nextCheck(row, now),
    ...(mustDeactivate ? { isActive: false } : {}),
  })
  if (mustDeactivate) await removeName(app, row.name)
}

async function activate(app: DomainsApp, row: DomainRow, recordChecks: RecordChecks, now: Date): Promise<void> {
  const current = row.isActive ? row : await selectActive(app.db, row.name)
  if (current && current.orgId !== row.orgId) {
    // The current organization keeps the domain unless DNS lacks its record, which means that the domain has another owner.
    const result = await checkOne(app, current)
    if (result.status !== 'missing') {
      const problem =
        'Another organization serves this domain. Remove the TXT record of that organization, so that only yours remains.'
      await updateDomain(app.db, row, { problem, recordChecks, checkedAt: now, nextCheckAt: nextCheck(row, now) })
      return
    }
    const { problem, checks } = result
    await updateDomain(app.db, current, { isActive: false, problem, recordChecks: checks, checkedAt: now })
    await removeName(app, row.name)
  }
  const change = {
    problem: null,
    recordChecks,
    provenAt: now,
    checkedAt: now,
    nextCheckAt: new Date(now.getTime() + activeIntervalMs),
    ...(row.isActive ? {} : { isActive: true }),
  }
  // A member may remove the domain during the check; no certificate is ordered for it then.
  await app.db.transaction(async () => {
    if (await updateDomain(app.db, row, change)) await addName(app.db, row.name, now)
  })
}

/**
 * Returns when to check a domain again after a failed check: often at first, because users set the records soon after they add a
 * domain.
 */
function nextCheck({ createdAt, isActive }: DomainRow, now: Date): Date {
  const ageMs = now.getTime() - createdAt.getTime()
  if (!isActive && ageMs > maxWaitMs) return new Date(now.getTime() + neverMs)
  return new Date(now.getTime() + Math.min(Math.max(ageMs / 10, 10_000), isActive ? minutes(10) : hours(1)))
}
