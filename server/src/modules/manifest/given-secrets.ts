import type { Variables } from './environment.ts'

/** What starts a program, or what the platform sets itself: a secret of this name reaches programs only through the manifest. */
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

/** With the addon postgres the platform says how to connect: `DB_SSL_CA` of another database would only break that. */
const isReserved = (name: string, hasPostgres: boolean): boolean =>
  reservedNames.has(name) ||
  reservedPrefixes.some((prefix) => name.startsWith(prefix)) ||
  (hasPostgres && name.startsWith('DB_'))

/** Those of an organization's secrets that a version's programs are given as variables, without their manifest naming them. */
export const givenSecrets = (secrets: Variables, hasPostgres: boolean): Variables =>
  Object.fromEntries(Object.entries(secrets).filter(([name]) => !isReserved(name, hasPostgres)))

type ShownManifest = { deploy?: { env?: Record<string, unknown>; addons?: { postgres?: unknown } } }

/** Whether a version with this manifest, as its row has it, is given a secret of this name with its next start. */
export function willBeGiven(name: string, manifestCurrent: Record<string, unknown>): boolean {
  const { deploy } = manifestCurrent as ShownManifest
  return !isReserved(name, deploy?.addons?.postgres != null) && !(name in (deploy?.env ?? {}))
}

type NamedEnvironments = { deploy?: { env?: object; processor?: { env?: object }[]; secrets?: string[] } }

/** Variables that a manifest, as its version's row has it, sets for its processors. */
export function ownVariables(manifestCurrent: Record<string, unknown>): Set<string> {
  const { deploy } = manifestCurrent as NamedEnvironments
  const sections = [deploy?.env, ...(deploy?.processor ?? []).map(({ env }) => env)]
  return new Set([...sections.flatMap((env) => Object.keys(env ?? {})), ...(deploy?.secrets ?? [])])
}
