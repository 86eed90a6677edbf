import type { App } from '../../../app.ts'
import { minutes } from '../../../clock.ts'
import { quotaReader, type QuotaUse } from '../../billing/index.ts'
import { latencyPercentiles } from '../../metrics/index.ts'
import { readAlertSubjects, type AlertSubject } from './alert-subjects.ts'
import type { Limits } from '../../observing/index.ts'
import { listInTrouble } from '../event-store.ts'
import type { Facts } from './evaluate.ts'
import { paymentFindings, quotaFindings } from './org-findings.ts'
import type { Latency } from './slow.ts'

/** What takes long to find out is found out no more often. */
const slowReadMs = minutes(1)
const latencyMs = minutes(5)

/** `areQuotasKnown`: false while they could never be read; nothing may be said of them then. */
export type FactsRead = Facts & { areQuotasKnown: boolean }

/** Reads what alerts are judged by. */
export function factsReader(app: App): (limitsOf: (orgId: number) => Limits) => Promise<FactsRead> {
  const readQuotas = quotaReader(app)
  let quotas: QuotaUse[] | null = null
  let latencies = new Map<number, Latency>()
  let nextMs = -Infinity

  const readSeldom = async (versions: AlertSubject[], nowMs: number) => {
    if (nowMs < nextMs) return
    nextMs = nowMs + slowReadMs
    latencies = await readLatencies(app, versions, nowMs)
    quotas = await readQuotas().catch((error: unknown) => {
      app.log.error({ err: error }, 'what is used of quotas could not be read')
      return quotas
    })
  }

  return async (limitsOf) => {
    const versions = await readAlertSubjects(app.db)
    await readSeldom(versions, app.clock.now().getTime())
    const inTrouble = await listInTrouble(app.db)
    return {
      versions,
      latencies,
      ofOrgs: [...quotaFindings(quotas ?? [], limitsOf), ...paymentFindings(inTrouble)],
      areQuotasKnown: quotas !== null,
    }
  }
}

async function readLatencies({ db }: App, versions: AlertSubject[], nowMs: number): Promise<Map<number, Latency>> {
  const asked = versions.filter(({ subject: watched }) => watched.apiReplicas > 0 && watched.status !== 'HIBERNATED')
  const p95 = await latencyPercentiles(
    db,
    asked.map(({ id }) => id),
    0.95,
    nowMs - latencyMs,
  )
  return new Map([...p95].map(([id, { ms, requests }]) => [id, { p95Ms: ms, requests }]))
}
