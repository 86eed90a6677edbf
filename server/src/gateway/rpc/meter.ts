import type { App } from '../../app.ts'
import { addRpcUsage, type RpcUsageRow } from '../../modules/rpc/index.ts'
import { CounterBuffer } from '../counter-buffer.ts'
import { HourlyNames } from '../hourly-names.ts'

const hourLengthMs = 3_600_000
/** Bounds the number of rows, since callers choose versions and method names. */
const maxNamesPerHour = 300

type Totals = Awaited<ReturnType<typeof addRpcUsage>>
type RequestKey = { orgId: number; chain: string; method: string; version: string }

/** Counts RPC requests by organization, chain, method, version and hour. */
export class Meter {
  readonly #app: Pick<App, 'clock'>
  readonly #buffer: CounterBuffer<RpcUsageRow>
  readonly #pending = new Map<number, number>()
  readonly #names = new HourlyNames(maxNamesPerHour)

  /** `onWritten` receives the new totals of the database, and the requests by organization that this meter has just added. */
  constructor(app: App, onWritten: (totals: Totals, ownRequests: ReadonlyMap<number, number>) => void) {
    this.#app = app
    this.#buffer = new CounterBuffer<RpcUsageRow>({
      app,
      name: 'RPC usage',
      write: async (rows) => {
        const totals = await addRpcUsage(app.db, rows)
        const ownRequests = requestsByOrg(rows)
        onWritten(totals, ownRequests)
        this.#subtractPending(ownRequests)
      },
      add: (into, from) => {
        into.requests += from.requests
        into.failures += from.failures
      },
      failureMessage: 'failed to write RPC usage; trying again',
    })
  }

  /** Counts one request. `isBillable`: a node or the cache has responded, possibly with an error. */
  count({ orgId, chain, ...names }: RequestKey, isBillable: boolean): void {
    const hourMs = Math.floor(this.#app.clock.now().getTime() / hourLengthMs) * hourLengthMs
    const version = this.#names.limit(hourMs, `version ${orgId}`, names.version)
    const method = this.#names.limit(hourMs, `method ${orgId}`, names.method)
    const create = () => ({ orgId, chain, version, method, hour: new Date(hourMs), requests: 0, failures: 0 })
    const row = this.#buffer.row(`${orgId} ${chain} ${method} ${version} ${hourMs}`, create)
    if (!row) return
    if (!isBillable) row.failures += 1
    else {
      row.requests += 1
      this.#pending.set(orgId, this.pendingOf(orgId) + 1)
    }
  }

  /** Returns the number of requests that were counted and are not in the database yet. */
  pendingOf(orgId: number): number {
    return this.#pending.get(orgId) ?? 0
  }

  close(): Promise<void> {
    return this.#buffer.close()
  }

  #subtractPending(written: ReadonlyMap<number, number>): void {
    for (const [orgId, requests] of written) {
      const remaining = this.pendingOf(orgId) - requests
      if (remaining > 0) this.#pending.set(orgId, remaining)
      else this.#pending.delete(orgId)
    }
  }
}

function requestsByOrg(rows: readonly RpcUsageRow[]): Map<number, number> {
  const byOrg = new Map<number, number>()
  for (const { orgId, requests } of rows) byOrg.set(orgId, (byOrg.get(orgId) ?? 0) + requests)
  return byOrg
}
