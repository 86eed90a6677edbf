import type { App } from '../../../app.ts'
import { minutes } from '../../../clock.ts'
import { quotaReader, type QuotaUse } from '../../billing/index.ts'
import { latencyPercentiles } from '../../metrics/index.ts'
import { readAlertSubjects, type AlertSubject } from './alert-subjects.ts'
import type { Latency } from '../../observing/index.ts'
import { listInTrouble } from '../event-store.ts'
import type { Facts } from './evaluate.ts'

/** Expensive queries run no more often. */
const slowReadMs = minutes(1)
const latencyMs = minutes(5)

/** `areQuotasKnown`: false until quotas were read once. Alerts about quotas must not change before. */
export type FactsRead = Facts & { areQuotasKnown: boolean }

/** Returns a function that reads the facts of all versions and organizations. */
export function factsReader(app: App): () => Promise<FactsRead> {
  const readQuotas = quotaReader(app)
  let quotas: QuotaUse[] | null = null
  let latencies = new Map<number, Latency>()
  let nextMs = -Infinity

  const readExpensive = async (versions: AlertSubject[], nowMs: number) => {
    if (nowMs < nextMs) return
    nextMs = nowMs + slowReadMs
    latencies = await readLatencies(app, versions, nowMs)
    quotas = await readQuotas().catch((error: unknown) => {
      app.log.error({ err: error }, 'reading the use of quotas failed')
      return quotas
    })
  }

  return async () => {
    const versions = await readAlertSubjects(app.db)
    await readExpensive(versions, app.clock.now().getTime())
    const inTrouble = await listInTrouble(app.db)
    return {
      versions,
      latencies,
      orgs: orgFactsOf(quotas ?? [], inTrouble),
      areQuotasKnown: quotas !== null,
    }
  }
}

function orgFactsOf(quotas: QuotaUse[], inTrouble: Awaited<ReturnType<typeof listInTrouble>>): Facts['orgs'] {
  const statuses = new Map(inTrouble.map(({ orgId, status }) => [orgId, status]))
  const quotasOf = Map.groupBy(quotas, ({ orgId }) => orgId)
  const orgIds = new Set([...statuses.keys(), ...quotasOf.keys()])
  return [...orgIds].map((orgId) => ({
    orgId,
    facts: { status: statuses.get(orgId) ?? null, quotas: quotasOf.get(orgId) ?? [] },
  }))
}

async function readLatencies({ db }: App, versions: AlertSubject[], nowMs: number): Promise<Map<number, Latency>> {
  const measured = versions.filter(({ subject: watched }) => watched.apiReplicas > 0 && watched.status !== 'HIBERNATED')
  const p95 = await latencyPercentiles(
    db,
    measured.map(({ id }) => id),
    0.95,
    nowMs - latencyMs,
  )
  return new Map([...p95].map(([id, { ms, requests }]) => [id, { p95Ms: ms, requests }]))
}
