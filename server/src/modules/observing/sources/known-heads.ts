import type { App } from '../../../app.ts'
import { observeHeads, type ChainHead } from '../../rpc/index.ts'
import { chainOf } from './chain-of.ts'
import { ownVariables, isProcessor } from '../../manifest/index.ts'
import { openWorkload } from '../../versions/index.ts'
import { sourceName } from './source-log.ts'
import { listRowVersions, selectSealedWorkloads, type SealedWorkload } from './workload-store.ts'

/** The chain that a processor indexes, and its independent head; null while no gateway polls it. */
export type HeadLookup = (of: {
  squidId: number
  container: string
}) => { chain: string; head: ChainHead | null } | null

export type ChainHeadCache = {
  headOf: HeadLookup
  /** Data sources named in its code and environment, without credentials. */
  sourcesOf: (of: { squidId: number; container: string }) => string[]
  /** Reads the environments of versions that changed, and the heads of the chains in them. */
  look: () => Promise<void>
}

/** By processor. */
type CachedWorkload = { written: string; chains: Map<string, string>; sources: Map<string, string[]> }

export function createKnownHeads(app: App): ChainHeadCache {
  let heads = new Map<string, ChainHead>()
  const read = new Map<number, CachedWorkload>()

  /** Opening a workload takes a while, so that only those are opened that changed. */
  const readChanged = async () => {
    const wanted = new Map((await listRowVersions(app.db)).map((row) => [row.squidId, row.written]))
    for (const squidId of read.keys()) if (!wanted.has(squidId)) read.delete(squidId)
    const changed = [...wanted].filter(([squidId, written]) => read.get(squidId)?.written !== written)
    const sealed = await selectSealedWorkloads(
      app.db,
      changed.map(([squidId]) => squidId),
    )
    for (const row of sealed)
      read.set(row.squidId, { written: wanted.get(row.squidId) ?? '', ...readWorkload(app, row) })
  }

  return {
    headOf: ({ squidId, container }) => {
      const chain = read.get(squidId)?.chains.get(container)
      return chain === undefined ? null : { chain, head: heads.get(chain) ?? null }
    },
    sourcesOf: ({ squidId, container }) => read.get(squidId)?.sources.get(container) ?? [],
    look: async () => {
      await readChanged()
      const chains = new Set([...read.values()].flatMap((one) => [...one.chains.values()]))
      heads = await observeHeads(app, [...chains])
    },
  }
}

/** A secret that every version is given tells nothing of this one. */
function readWorkload({ sealer, log }: App, row: SealedWorkload): Omit<CachedWorkload, 'written'> {
  const { squidId, sealed, secretNames, manifestCurrent, sourceHosts } = row
  const chains: CachedWorkload['chains'] = new Map()
  const sources: CachedWorkload['sources'] = new Map()
  try {
    const own = ownVariables(manifestCurrent)
    const foreign = new Set(secretNames.filter((name) => !own.has(name)))
    for (const { name, env } of openWorkload(sealer, squidId, sealed).containers.filter(isProcessor)) {
      const told = Object.fromEntries(Object.entries(env).filter(([variable]) => !foreign.has(variable)))
      const chain = chainOf(told)
      if (chain !== null) chains.set(name, chain)
      const named = Object.values(told).flatMap((value) => sourceName(value) ?? [])
      sources.set(name, [...new Set([...sourceHosts, ...named])])
    }
  } catch (error) {
    log.warn({ err: error, squidId }, 'a workload cannot be opened: the chains of its processors are not known')
  }
  return { chains, sources }
}
