import type { App } from '../../../app.ts'
import { observeHeads, type ChainHead } from '../../chains/index.ts'
import { chainOf } from './chain-of.ts'
import { variablesOfManifest } from '../../manifest/index.ts'
import { isProcessor } from '../../containers.ts'
import { inBatches } from '../../../db/batches.ts'
import { forEachInSlices } from '../../../collections/slices.ts'
import { openWorkload } from '../../versions/index.ts'
import { sourceName } from './source-log.ts'
import { listWorkloadVersions, selectRunningWorkloads, type SealedWorkload } from './workload-store.ts'

/** Returns the chain that a processor indexes, with the chain's independent head; `head` is null while no gateway polls the chain. */
export type HeadLookup = (processor: {
  squidId: number
  container: string
}) => { chain: string; head: ChainHead | null } | null

/** What is known about the chains and data sources of processors. */
export type KnownHeads = {
  headOf: HeadLookup
  /** Returns the data sources found in the code and environment of a processor, without credentials. */
  sourcesOf: (processor: { squidId: number; container: string }) => string[]
  /** Reads the environments of changed versions, and the heads of the chains in them. */
  refresh: () => Promise<void>
}

/** Chains and data sources by processor, as read from one state of the version's row. */
type CachedWorkload = { rowVersion: string; chains: Map<string, string>; sources: Map<string, string[]> }

/** Creates a cache of the heads of the chains that processors index. It is empty until `refresh` is called. */
export function createKnownHeads(app: App): KnownHeads {
  let heads = new Map<string, ChainHead>()
  const workloads = new Map<number, CachedWorkload>()

  /** Decrypts only the workloads that changed, since decryption is slow. */
  const readChanged = async () => {
    const current = new Map<number, string>()
    const changed: number[] = []
    await forEachInSlices(await listWorkloadVersions(app.db), ({ squidId, rowVersion }) => {
      current.set(squidId, rowVersion)
      if (workloads.get(squidId)?.rowVersion !== rowVersion) changed.push(squidId)
    })
    for (const squidId of workloads.keys()) if (!current.has(squidId)) workloads.delete(squidId)
    for (const batch of inBatches(changed))
      await forEachInSlices(await selectRunningWorkloads(app.db, batch), (row) =>
        workloads.set(row.squidId, { rowVersion: current.get(row.squidId) ?? '', ...readWorkload(app, row) }),
      )
  }

  return {
    headOf: ({ squidId, container }) => {
      const chain = workloads.get(squidId)?.chains.get(container)
      return chain === undefined ? null : { chain, head: heads.get(chain) ?? null }
    },
    sourcesOf: ({ squidId, container }) => workloads.get(squidId)?.sources.get(container) ?? [],
    refresh: async () => {
      await readChanged()
      const chains = new Set([...workloads.values()].flatMap((one) => [...one.chains.values()]))
      heads = await observeHeads(app, [...chains])
    },
  }
}

/** Reads the chains and data sources of a workload. Ignores secrets that the manifest does not mention: every version receives them. */
function readWorkload({ sealer, log }: App, row: SealedWorkload): Omit<CachedWorkload, 'rowVersion'> {
  const { squidId, sealed, secretNames, manifestCurrent, sourceHosts } = row
  const chains: CachedWorkload['chains'] = new Map()
  const sources: CachedWorkload['sources'] = new Map()
  try {
    const usedVariables = variablesOfManifest(manifestCurrent)
    const unusedSecrets = new Set(secretNames.filter((name) => !usedVariables.has(name)))
    for (const { name, env } of openWorkload(sealer, squidId, sealed).containers.filter(isProcessor)) {
      const ownEnv = Object.fromEntries(Object.entries(env).filter(([variable]) => !unusedSecrets.has(variable)))
      const chain = chainOf(ownEnv)
      if (chain !== null) chains.set(name, chain)
      const envHosts = Object.values(ownEnv).flatMap((value) => sourceName(value) ?? [])
      sources.set(name, [...new Set([...sourceHosts, ...envHosts])])
    }
  } catch (error) {
    log.warn({ err: error, squidId }, 'cannot open a workload: the chains of its processors are unknown')
  }
  return { chains, sources }
}
