import { InvalidManifest, type SquidPlan } from '../manifest/index.ts'

/** Default settings, which a manifest may override. */
const defaults = { statement_timeout: '60000ms', log_min_duration_statement: '5000ms' }

const roleSettings = [
  'statement_timeout',
  'log_min_duration_statement',
  'idle_in_transaction_session_timeout',
  'idle_session_timeout',
] as const

/** The names of the settings that Shoal sets for the owner of a database. */
export const enforcedSettings: readonly string[] = [...roleSettings, 'temp_file_limit']

/** Formats a duration for users: `75 s`, `60 min`. */
export const durationText = (ms: number): string =>
  ms < 600_000 ? `${Math.round(ms / 100) / 10} s` : `${Math.round(ms / 60_000)} min`

const minTemporaryBytes = 64 * 2 ** 20

/**
 * Returns the limit of a connection's temporary files (for sorts and hashes), in Postgres' notation. This number of connections
 * together may write twice the storage of the database, and each at least 64 MiB. Only a superuser may change this
 * setting, so the tenant cannot.
 */
export const temporaryFileLimit = (totalBytes: number, connections: number): string =>
  `${Math.floor(Math.max(minTemporaryBytes, (2 * totalBytes) / connections) / 1024)}kB`

const unitMs: Record<string, number> = { us: 0.001, ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * Converts a duration of the manifest to milliseconds. Its units are those of Postgres; a number without a unit is in
 * milliseconds.
 */
function durationMs(text: string): number {
  const [, amount = '', unit = 'ms'] = /^(\d+)(us|ms|s|min|h|d)?$/.exec(text) ?? []
  return Number(amount) * (unitMs[unit] ?? 1)
}

/**
 * Returns a duration in Postgres' notation.
 * @throws InvalidManifest for 2^31 ms or more
 */
function duration(key: string, text: string): string {
  if (durationMs(text) >= 2 ** 31)
    throw new InvalidManifest(
      `deploy.addons.postgres.config.${key}: ${text} is longer than Postgres allows, which is 24 days.`,
    )
  return /\d$/.test(text) ? `${text}ms` : text
}

/**
 * The limits of the manifest, in milliseconds; 0 means no limit. A session may disable these settings, so `statement-watch.ts`
 * enforces the limits.
 */
export type SessionLimits = { statementMs: number; idleInTransactionMs: number }

/**
 * Returns the settings of the owner's connections in Postgres' notation, the limits in these settings, and a warning for each
 * setting that cannot be applied. `maxStatementMs`: the maximum duration of a statement in this installation.
 * @throws InvalidManifest for a duration of 2^31 ms or more
 */
export function databaseSettings(
  plan: NonNullable<SquidPlan['postgres']>,
  cluster: { version: string; locks: string; predLocks: string; maxStatementMs: number },
): { settings: Record<string, string>; limits: SessionLimits; warnings: string[] } {
  const settings: Record<string, string> = { ...defaults }
  for (const key of roleSettings) {
    const value = plan.config[key]
    if (value !== undefined) settings[key] = duration(key, String(value))
  }
  const warnings: string[] = []
  const warnIfTooLow = (key: string, requested: number | undefined, actual: string) => {
    if (requested !== undefined && requested > Number(actual))
      warnings.push(
        `${key} is a setting of the whole Postgres here and stays at ${actual}; the manifest requests ${requested}.`,
      )
  }
  warnIfTooLow('max_locks_per_transaction', plan.config.max_locks_per_transaction, cluster.locks)
  warnIfTooLow('max_pred_locks_per_transaction', plan.config.max_pred_locks_per_transaction, cluster.predLocks)
  if (plan.version !== null && plan.version !== cluster.version)
    warnings.push(`The manifest requests Postgres ${plan.version}; this installation runs Postgres ${cluster.version}.`)
  if (plan.isAutoresizeRequested)
    warnings.push(
      `Storage does not grow automatically here: raise scale.addons.postgres.storage before the ${plan.storage} are full.`,
    )
  const limits = {
    statementMs: Math.ceil(durationMs(settings['statement_timeout'] ?? '0')),
    idleInTransactionMs: Math.ceil(durationMs(settings['idle_in_transaction_session_timeout'] ?? '0')),
  }
  if (limits.statementMs === 0 || limits.statementMs > cluster.maxStatementMs)
    warnings.push(
      `statement_timeout is ${settings['statement_timeout']}, but this installation ends every statement that runs for more than ${durationText(cluster.maxStatementMs)}.`,
    )
  return { settings, limits, warnings }
}
