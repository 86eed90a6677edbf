import type { App } from '../../app.ts'
import { addPortalUsage, type PortalUsageRow } from '../../modules/portal/index.ts'
import { CounterBuffer } from '../counter-buffer.ts'
import { HourlyNames } from '../hourly-names.ts'

const hourLengthMs = 3_600_000
/** Bounds the number of rows, since the version is a header of the caller (`x-squid-id`) that is not verified. */
const maxVersionsPerHour = 1_000

/** Counts requests and bytes by dataset, version and hour. */
export class PortalMeter {
  readonly #app: Pick<App, 'clock'>
  readonly #buffer: CounterBuffer<PortalUsageRow>
  readonly #versions = new HourlyNames(maxVersionsPerHour)

  constructor(app: Pick<App, 'config' | 'clock' | 'db' | 'log'>) {
    this.#app = app
    this.#buffer = new CounterBuffer<PortalUsageRow>({
      app,
      name: 'Portal usage',
      write: (rows) => addPortalUsage(app.db, rows),
      add: (into, from) => {
        into.requests += from.requests
        into.bytes += from.bytes
      },
      failureMessage: 'failed to write Portal usage; trying again',
    })
  }

  count(dataset: string, claimedVersion: string, bytes: number): void {
    const hourMs = Math.floor(this.#app.clock.now().getTime() / hourLengthMs) * hourLengthMs
    const version = this.#versions.limit(hourMs, 'version', claimedVersion)
    const create = () => ({ dataset, version, hour: new Date(hourMs), requests: 0, bytes: 0 })
    const row = this.#buffer.row(`${dataset} ${version} ${hourMs}`, create)
    if (!row) return
    row.requests += 1
    row.bytes += bytes
  }

  close(): Promise<void> {
    return this.#buffer.close()
  }
}
