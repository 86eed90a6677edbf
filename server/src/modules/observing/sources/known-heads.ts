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
  /** Data sources found in the code and environment of a processor, without credentials. */
  sourcesOf: (of: { squidId: number; container: string }) => string[]
  /** Reads the environments of changed versions, and the heads of the chains in them. */
  look: () => Promise<void>
}

/** Chains and data sources by processor; `written` is the row version they were read from. */
type CachedWorkload = { written: string; chains: Map<string, string>; sources: Map<string, string[]> }

export function createKnownHeads(app: App): ChainHeadCache {
  let heads = new Map<string, ChainHead>()
  const read = new Map<number, CachedWorkload>()

  /** Opens only the workloads that changed, since opening one is slow. */
  const readChanged = async () => {
    const current = new Map((await listRowVersions(app.db)).map((row) => [row.squidId, row.written]))
    for (const squidId of read.keys()) if (!current.has(squidId)) read.delete(squidId)
    const changed = [...current].filter(([squidId, written]) => read.get(squidId)?.written !== written)
    const sealed = await selectSealedWorkloads(
      app.db,
      changed.map(([squidId]) => squidId),
    )
    for (const row of sealed)
      read.set(row.squidId, { written: current.get(row.squidId) ?? '', ...readWorkload(app, row) })
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

/** Ignores secrets that every version receives, since this version may not use them. */
function readWorkload({ sealer, log }: App, row: SealedWorkload): Omit<CachedWorkload, 'written'> {
  const { squidId, sealed, secretNames, manifestCurrent, sourceHosts } = row
  const chains: CachedWorkload['chains'] = new Map()
  const sources: CachedWorkload['sources'] = new Map()
  try {
    const own = ownVariables(manifestCurrent)
    const foreign = new Set(secretNames.filter((name) => !own.has(name)))
    for (const { name, env } of openWorkload(sealer, squidId, sealed).containers.filter(isProcessor)) {
      const ownEnv = Object.fromEntries(Object.entries(env).filter(([variable]) => !foreign.has(variable)))
      const chain = chainOf(ownEnv)
      if (chain !== null) chains.set(name, chain)
      const named = Object.values(ownEnv).flatMap((value) => sourceName(value) ?? [])
      sources.set(name, [...new Set([...sourceHosts, ...named])])
    }
  } catch (error) {
    log.warn({ err: error, squidId }, 'a workload cannot be opened: the chains of its processors are not known')
  }
  return { chains, sources }
}
