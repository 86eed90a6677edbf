import type { Variables } from './environment.ts'

/** Variables that programs need to start, or that Shoal sets itself. */
const reservedNames = new Set([
  'PATH',
  'HOME',
  'PWD',
  'SHELL',
  'USER',
  'TMPDIR',
  'NODE_ENV',
  'NODE_OPTIONS',
  'NODE_PATH',
  'BASE_PATH',
  'SQUID_ID',
  'SQD_LOG_LABELS',
  'GQL_PORT',
  'GRAPHQL_SERVER_PORT',
  'PROCESSOR_PROMETHEUS_PORT',
  'PROMETHEUS_PORT',
])
const reservedPrefixes = ['LD_', 'SHOAL_']

/**
 * Whether a secret of this name is passed only if the manifest refers to it. With the postgres addon, this includes all `DB_`
 * names: Shoal sets the connection, and a secret for another database, such as `DB_SSL_CA`, would break it.
 */
const isReserved = (name: string, hasPostgres: boolean): boolean =>
  reservedNames.has(name) ||
  reservedPrefixes.some((prefix) => name.startsWith(prefix)) ||
  (hasPostgres && name.startsWith('DB_'))

/** The secrets of an organization that a version's programs receive as variables even if the manifest does not refer to them. */
export const secretsForVersion = (secrets: Variables, hasPostgres: boolean): Variables =>
  Object.fromEntries(Object.entries(secrets).filter(([name]) => !isReserved(name, hasPostgres)))

type ManifestVariables = { deploy?: { env?: Record<string, unknown>; addons?: { postgres?: unknown } } }

/**
 * Whether a version will receive a secret of this name at its next start even if its manifest does not refer to the secret.
 * `manifestCurrent` is the column of the version's row.
 */
export function receivesSecretAutomatically(name: string, manifestCurrent: Record<string, unknown>): boolean {
  const { deploy } = manifestCurrent as ManifestVariables
  return !isReserved(name, deploy?.addons?.postgres != null) && !(name in (deploy?.env ?? {}))
}

type ManifestEnvironments = { deploy?: { env?: object; processor?: { env?: object }[]; secrets?: string[] } }

/**
 * Returns the names of the variables that a manifest sets for its processors, including those in the legacy list `deploy.secrets`.
 * `manifestCurrent` is the column of the version's row.
 */
export function variablesOfManifest(manifestCurrent: Record<string, unknown>): Set<string> {
  const { deploy } = manifestCurrent as ManifestEnvironments
  const sections = [deploy?.env, ...(deploy?.processor ?? []).map(({ env }) => env)]
  return new Set([...sections.flatMap((env) => Object.keys(env ?? {})), ...(deploy?.secrets ?? [])])
}
