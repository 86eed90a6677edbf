import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Holder } from '../installation/holders.ts'
import type { ClusterReading } from './clusters.ts'

/** `skipped`: this installation does not use it, or it cannot be checked now. */
export type CheckStatus = 'ok' | 'warning' | 'failed' | 'skipped'

export type CheckResult = {
  /** What was checked: `ports`, `disk`. Several results may have the same name. */
  name: string
  status: CheckStatus
  /** What was found, with its value and since when, in one line. */
  finding: string
  /** What the operator should do; null unless the status is `warning` or `failed`. */
  remedy: string | null
}

/** The installation that is checked. */
export type Examined = {
  config: Config
  clock: Clock
  /** The directory of Postgres and images. */
  stateDir: string
  /** The processes that serve the installation now. */
  servers: Holder[]
  /** Reads its Postgres servers once for all checks. Never rejects. */
  readClusters: () => Promise<ClusterReading[]>
}

/** A group of checks. Changes nothing that a running installation uses. */
export type Check = { name: string; run: (examined: Examined) => Promise<CheckResult[]> }

// Each of these functions creates a result with the status of its name.
export const ok = (name: string, finding: string): CheckResult => ({ name, status: 'ok', finding, remedy: null })

export const skipped = (name: string, finding: string): CheckResult => ({
  name,
  status: 'skipped',
  finding,
  remedy: null,
})

export const warning = (name: string, finding: string, remedy: string): CheckResult => ({
  name,
  status: 'warning',
  finding,
  remedy,
})

export const failed = (name: string, finding: string, remedy: string): CheckResult => ({
  name,
  status: 'failed',
  finding,
  remedy,
})

/** Returns the first line of an error's message. */
export function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string }
  return (message || code || String(error)).split('\n')[0] ?? ''
}
