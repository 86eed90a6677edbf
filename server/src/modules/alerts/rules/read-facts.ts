import type { App } from '../../../app.ts'
import { minutes } from '../../../clock.ts'
import { quotaReader, type QuotaUse } from '../../billing/index.ts'
import { latencyPercentiles } from '../../metrics/index.ts'
import { readAlertSubjects, type AlertSubject } from './alert-subjects.ts'
import type { Latency } from '../../observing/index.ts'
import { listOrgsWithPaymentIssues } from '../event-store.ts'
import type { Facts } from './evaluate.ts'

/** Minimum interval between the queries of latencies and quotas, which are expensive. */
const expensiveReadIntervalMs = minutes(1)
/** The period whose requests the latency is computed from. */
const latencyWindowMs = minutes(5)

/** `areQuotasKnown` is false until the first successful read of the quotas; until then, alerts about quotas must not change. */
export type RoundFacts = Facts & { areQuotasKnown: boolean }

/** Returns a function that reads the facts of all versions and organizations. */
export function createFactsReader(app: App): () => Promise<RoundFacts> {
  const readQuotas = quotaReader(app)
  let quotas: QuotaUse[] | null = null
  let latencies = new Map<number, Latency>()
  let nextExpensiveReadMs = -Infinity

  const readExpensive = async (versions: AlertSubject[], nowMs: number) => {
    if (nowMs < nextExpensiveReadMs) return
    nextExpensiveReadMs = nowMs + expensiveReadIntervalMs
    latencies = await readLatencies(app, versions, nowMs)
    quotas = await readQuotas().catch((error: unknown) => {
      app.log.error({ err: error }, 'reading the quota usage failed')
      return quotas
    })
  }

  return async () => {
    const versions = await readAlertSubjects(app.db)
    await readExpensive(versions, app.clock.now().getTime())
    const paymentIssues = await listOrgsWithPaymentIssues(app.db)
    return {
      versions,
      latencies,
      orgs: orgFactsOf(quotas ?? [], paymentIssues),
      areQuotasKnown: quotas !== null,
    }
  }
}

function orgFactsOf(
  quotas: QuotaUse[],
  paymentIssues: Awaited<ReturnType<typeof listOrgsWithPaymentIssues>>,
): Facts['orgs'] {
  const statuses = new Map(paymentIssues.map(({ orgId, status }) => [orgId, status]))
  const quotasByOrg = Map.groupBy(quotas, ({ orgId }) => orgId)
  const orgIds = new Set([...statuses.keys(), ...quotasByOrg.keys()])
  return [...orgIds].map((orgId) => ({
    orgId,
    facts: { status: statuses.get(orgId) ?? null, quotas: quotasByOrg.get(orgId) ?? [] },
  }))
}

async function readLatencies({ db }: App, versions: AlertSubject[], nowMs: number): Promise<Map<number, Latency>> {
  const withApi = versions.filter(({ facts }) => facts.apiReplicas > 0 && facts.status !== 'HIBERNATED')
  const p95 = await latencyPercentiles(
    db,
    withApi.map(({ id }) => id),
    0.95,
    nowMs - latencyWindowMs,
  )
  return new Map([...p95].map(([id, { ms, requests }]) => [id, { p95Ms: ms, requests }]))
}
