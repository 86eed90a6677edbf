import type { App } from '../../../app.ts'
import type { ApiRow, ContainerRow } from '../observe-store.ts'
import { serverProbeOf } from './probe.ts'
import type { ObservationCache } from '../observation-cache.ts'
import { workloadIdOf } from '../../manifest/index.ts'
import { isServer } from '../../containers.ts'
import { FairRounds } from './fair-rounds.ts'
import { allVersions, type Turn } from './turns.ts'

/**
 * Probes the replicas of apis and of Hasura, and records changes. Unavailable replicas are probed in every round, so that a start is
 * noticed immediately; available ones only in their turn.
 */
export async function observeApis(
  app: App,
  cache: ObservationCache,
  nextTurn: (count: number) => Turn = () => allVersions,
  rounds = new FairRounds(app),
): Promise<void> {
  const replicas = [...cache.containers].filter(([, row]) => isServer({ name: row.container }))
  const isTurn = nextTurn(replicas.length)
  const toProbe = replicas.filter(([key, row]) => isTurn(row) || !cache.apis.get(key)?.isAvailable)
  await rounds.run<ApiRow>(toProbe, {
    probe: async (key, row) => {
      const reason = await unavailableReason(app, row)
      return nextRow(row, cache.apis.get(key), reason, app.clock.now())
    },
    record: (changes) => cache.recordApis(changes),
  })
}

/** Returns why the replica is not available; null if it is. */
async function unavailableReason({ directory }: App, { squidId, generation, container, state, reason }: ContainerRow) {
  if (state === 'starting') return 'It is starting.'
  if (state !== 'running') return reason ?? 'It is not running.'
  const { port, request } = serverProbeOf(container)
  const endpoint = directory.endpoint(workloadIdOf(squidId, generation), container, port)
  return endpoint ? (await request(endpoint)).problem : 'It cannot be reached.'
}

/** Returns the row to write after a probe; null if nothing has changed. */
function nextRow(row: ContainerRow, last: ApiRow | undefined, reason: string | null, now: Date): ApiRow | null {
  const { squidId, generation, container } = row
  const isAvailable = reason === null
  if (last && last.isAvailable === isAvailable && last.reason === reason) return null
  const since = last?.isAvailable === isAvailable ? last.since : now
  return { squidId, generation, container, isAvailable, since, reason }
}
