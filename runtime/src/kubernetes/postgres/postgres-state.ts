import type { Condition, KubeObject } from '../objects/object-types.ts'

/** The fields of a Cluster of CloudNativePG that Shoal reads. */
export type PostgresCluster = KubeObject & {
  spec?: { instances?: number }
  status?: { phase?: string; phaseReason?: string; readyInstances?: number; conditions?: Condition[] }
}

export type PostgresState = {
  /** `waiting`: CloudNativePG continues without the operator of Shoal. `failed`: the operator must act. */
  state: 'missing' | 'waiting' | 'ready' | 'failed'
  /** A sentence for operators. */
  sentence: string
  /** Why backups fail, in CloudNativePG's words; null: they do not fail, or there are none. */
  backupProblem: string | null
}

/** Phases that CloudNativePG does not leave without a change of the Cluster or of what it refers to. */
const failedPhases = new Set([
  'Cluster cannot proceed to reconciliation due to an unknown plugin being required',
  'Cluster cannot proceed to reconciliation due to an error while interacting with plugins',
  'Cluster has incomplete or invalid image catalog',
  'Cluster is unrecoverable and needs manual intervention',
  'Cluster cannot execute instance online upgrade due to missing architecture binary',
  'Unable to create required cluster objects',
  'Invalid cluster definition',
  'Waiting for user action',
  'Not enough disk space',
])

/** Describes a Cluster; null: it does not exist. */
export function postgresState(cluster: PostgresCluster | null): PostgresState {
  if (!cluster) return stateOf('missing', 'It does not exist in the cluster')
  const { metadata, spec, status } = cluster
  const backupProblem = problemOf(status?.conditions, ['ContinuousArchiving', 'LastBackupSucceeded'])
  if (metadata.deletionTimestamp !== undefined) return stateOf('waiting', 'It is being deleted', backupProblem)
  const { phase, phaseReason, readyInstances = 0 } = status ?? {}
  if (phase === undefined)
    return stateOf('waiting', 'CloudNativePG has not noticed it yet; check that its operator runs', backupProblem)
  const description = phaseReason ? `${phase}: ${phaseReason}` : phase
  if (failedPhases.has(phase)) return stateOf('failed', description, backupProblem)
  const isReady = status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false
  if (!isReady) return stateOf('waiting', description, backupProblem)
  return stateOf('ready', `${readyInstances} of ${spec?.instances ?? 1} instances are ready`, backupProblem)
}

const stateOf = (
  state: PostgresState['state'],
  sentence: string,
  backupProblem: string | null = null,
): PostgresState => ({ state, sentence, backupProblem })

function problemOf(conditions: Condition[] | undefined, types: string[]): string | null {
  const failed = conditions?.find(({ type, status }) => types.includes(type) && status === 'False')
  return failed ? (failed.message ?? failed.reason ?? failed.type) : null
}
