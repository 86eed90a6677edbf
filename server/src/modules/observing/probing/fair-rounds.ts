import { FairSlots, mapConcurrently } from '@shoal/runtime'
import type { App } from '../../../app.ts'
import { groupInSlices } from '../../../collections/slices.ts'
import { selectOrgs, type ContainerRow } from '../observe-store.ts'

/** Maximum number of concurrent probes of all organizations, and of one while few probes are in progress. */
const maxConcurrent = 256
const maxPerOrg = 16
/** Maximum number of versions whose organizations it remembers. */
const maxKnown = 100_000

type Program = [key: string, row: ContainerRow]

type Probes<R> = {
  /** Probes a program. Resolves with its new row; null if nothing has changed. */
  probe: (key: string, row: ContainerRow) => Promise<R | null>
  /** Writes the new rows, by container. */
  record: (changes: Map<string, R>) => Promise<void>
}

/**
 * Probes programs in rounds. Programs that respond slowly delay only the probes of their own organization: a round ends after `limitMs`,
 * and later rounds leave out an organization until its probes have ended.
 */
export class FairRounds {
  readonly #app: Pick<App, 'db' | 'log'>
  readonly #limitMs: number | null
  readonly #slots = new FairSlots(maxConcurrent, maxPerOrg)
  /** The probes in progress, by organization. */
  readonly #busy = new Map<number, Promise<void>>()
  /** The organizations of versions. */
  #orgs = new Map<number, number>()
  #isClosed = false

  /** `limitMs`: null to wait for all probes of a round. */
  constructor(app: Pick<App, 'db' | 'log'>, limitMs: number | null = null) {
    this.#app = app
    this.#limitMs = limitMs
  }

  /** Probes the programs of all organizations whose earlier probes have ended, and records the results. */
  async run<R>(programs: Program[], { probe, record }: Probes<R>): Promise<void> {
    const byOrg = await this.#groupByOrg(programs)
    const changes = new Map<string, R>()
    let isOver = false
    const probeOne = async ([key, row]: Program) => {
      const next = this.#isClosed ? null : await probe(key, row)
      if (!next || this.#isClosed) return
      if (isOver) await record(new Map([[key, next]]))
      else changes.set(key, next)
    }
    const started = [...byOrg]
      .filter(([org]) => !this.#busy.has(org))
      .map(([org, ofOrg]) => this.#start(org, ofOrg, probeOne))
    await this.#waitFor(started)
    isOver = true
    await record(changes)
  }

  /** Begins no more probes. Resolves when those in progress have ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.#busy.values())
  }

  /** Never rejects. */
  #start(org: number, programs: Program[], probeOne: (program: Program) => Promise<void>): Promise<void> {
    const ended = mapConcurrently(programs, maxPerOrg, (program) => this.#slots.run(org, () => probeOne(program)))
      .catch((error: unknown) => this.#app.log.warn({ err: error }, 'probing the programs of an organization failed'))
      .then(() => void this.#busy.delete(org))
    this.#busy.set(org, ended)
    return ended
  }

  /** Leaves out programs of versions that were deleted. */
  async #groupByOrg(programs: Program[]): Promise<Map<number, Program[]>> {
    const ids = new Set(programs.map(([, { squidId }]) => squidId))
    const unknown = [...ids].filter((id) => !this.#orgs.has(id))
    if (unknown.length > 0) {
      if (this.#orgs.size > maxKnown) this.#orgs = new Map()
      for (const [id, org] of await selectOrgs(this.#app.db, unknown)) this.#orgs.set(id, org)
    }
    const groups = await groupInSlices(programs, ([, { squidId }]) => this.#orgs.get(squidId))
    groups.delete(undefined)
    return groups as Map<number, Program[]>
  }

  async #waitFor(probes: Promise<void>[]): Promise<void> {
    const all = Promise.all(probes)
    if (this.#limitMs === null) return void (await all)
    const limit = Promise.withResolvers<void>()
    const timer = setTimeout(limit.resolve, this.#limitMs)
    await Promise.race([all, limit.promise])
    clearTimeout(timer)
  }
}
