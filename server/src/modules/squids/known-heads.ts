import type { App } from '../../app.ts'
import { observeHeads, type ChainHead } from '../rpc/index.ts'
import { chainOf } from './chain-of.ts'
import { ownVariables } from './given-secrets.ts'
import { openWorkload } from './store.ts'
import { isProcessor } from './workload.ts'
import { listWritten, selectSealedWorkloads, type SealedWorkload } from './workload-store.ts'

/** Which chain a processor indexes, and where that chain is as others see it: null while nobody looks at it. */
export type HeadOf = (of: { squidId: number; container: string }) => { chain: string; head: ChainHead | null } | null

export type KnownHeads = {
  headOf: HeadOf
  /** Looks at what versions are told in their environment now, and at the chains they name. */
  look: () => Promise<void>
}

type Read = { written: string; chains: Map<string, string> }

export function createKnownHeads(app: App): KnownHeads {
  let heads = new Map<string, ChainHead>()
  const read = new Map<number, Read>()

  /** Opening a workload takes a while, so that only those are opened that changed. */
  const readChanged = async () => {
    const wanted = new Map((await listWritten(app.db)).map((row) => [row.squidId, row.written]))
    for (const squidId of read.keys()) if (!wanted.has(squidId)) read.delete(squidId)
    const changed = [...wanted].filter(([squidId, written]) => read.get(squidId)?.written !== written)
    const sealed = await selectSealedWorkloads(
      app.db,
      changed.map(([squidId]) => squidId),
    )
    for (const row of sealed)
      read.set(row.squidId, { written: wanted.get(row.squidId) ?? '', chains: chainsIn(app, row) })
  }

  return {
    headOf: ({ squidId, container }) => {
      const chain = read.get(squidId)?.chains.get(container)
      return chain === undefined ? null : { chain, head: heads.get(chain) ?? null }
    },
    look: async () => {
      await readChanged()
      const chains = new Set([...read.values()].flatMap((one) => [...one.chains.values()]))
      heads = await observeHeads(app, [...chains])
    },
  }
}

/** By processor. A secret that every version is given tells nothing of this one. */
function chainsIn({ sealer, log }: App, row: SealedWorkload): Map<string, string> {
  const { squidId, sealed, secretNames, manifestCurrent } = row
  try {
    const { containers } = openWorkload(sealer, squidId, sealed)
    const own = ownVariables(manifestCurrent)
    const foreign = new Set(secretNames.filter((name) => !own.has(name)))
    return new Map(
      containers.filter(isProcessor).flatMap(({ name, env }) => {
        const chain = chainOf(Object.fromEntries(Object.entries(env).filter(([variable]) => !foreign.has(variable))))
        return chain === null ? [] : [[name, chain] as const]
      }),
    )
  } catch (error) {
    log.warn({ err: error, squidId }, 'a workload cannot be opened: the chains of its processors are not known')
    return new Map()
  }
}
