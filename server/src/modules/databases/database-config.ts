import { InvalidManifest, type SquidPlan } from '../manifest/index.ts'

/** Settings that a manifest may override (contract 4.2). */
const defaults = { statement_timeout: '60000ms', log_min_duration_statement: '5000ms' }

const perRole = [
  'statement_timeout',
  'log_min_duration_statement',
  'idle_in_transaction_session_timeout',
  'idle_session_timeout',
] as const

const unitMs: Record<string, number> = { us: 0.001, ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 }

/** The duration in Postgres' notation, which has the manifest's units. A number without a unit is in milliseconds; the limit is 2^31 ms. */
function duration(key: string, text: string): string {
  const [, amount = '', unit = 'ms'] = /^(\d+)(us|ms|s|min|h|d)?$/.exec(text) ?? []
  if (Number(amount) * (unitMs[unit] ?? 1) >= 2 ** 31)
    throw new InvalidManifest(
      `deploy.addons.postgres.config.${key}: ${text} is longer than Postgres can count, 24 days.`,
    )
  return `${amount}${unit}`
}

/**
 * Settings for the owner's connections, in Postgres' own units, and a warning for each setting that cannot be applied.
 * @throws InvalidManifest for a duration out of range
 */
export function databaseSettings(
  plan: NonNullable<SquidPlan['postgres']>,
  cluster: { version: string; locks: string; predLocks: string },
): { settings: Record<string, string>; warnings: string[] } {
  const settings: Record<string, string> = { ...defaults }
  for (const key of perRole) {
    const value = plan.config[key]
    if (value !== undefined) settings[key] = duration(key, String(value))
  }
  const warnings: string[] = []
  const ofCluster = (key: string, requested: number | undefined, actual: string) => {
    if (requested !== undefined && requested > Number(actual))
      warnings.push(
        `${key} is a setting of the whole Postgres here and stays at ${actual}; the manifest asks for ${requested}.`,
      )
  }
  ofCluster('max_locks_per_transaction', plan.config.max_locks_per_transaction, cluster.locks)
  ofCluster('max_pred_locks_per_transaction', plan.config.max_pred_locks_per_transaction, cluster.predLocks)
  if (plan.version !== null && plan.version !== cluster.version)
    warnings.push(`The manifest asks for Postgres ${plan.version}; this installation runs Postgres ${cluster.version}.`)
  if (plan.isAutoresizeRequested)
    warnings.push(
      `Storage does not grow by itself here: raise scale.addons.postgres.storage before ${plan.storage} are full.`,
    )
  return { settings, warnings }
}
