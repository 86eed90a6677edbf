import type { Manifest } from '@subsquid/manifest'
import { requiredSecrets } from './required-secrets.ts'
import { secretsForVersion } from './automatic-secrets.ts'
import { InvalidManifest } from './manifest.ts'

/** Environment variables or secrets: values by name. */
export type Variables = Record<string, string>

/** The values that `${{ … }}` in a manifest can refer to. */
export type Contexts = {
  squid: { id: number; name: string; slot: string; reference: string; organization: string }
  addons: {
    postgres?: { host: string; port: number; database: string; user: string; password: string; url: string }
    /** By chain, for expressions such as `${{ addons.rpc.eth.http }}`. */
    rpc?: Record<string, { http: string }>
  }
}

/** The evaluated environments of a manifest's sections. */
export type Environments = {
  deploy: Variables
  init: Variables
  api: Variables
  hasura: Variables
  processors: Record<string, Variables>
}

/** A manifest refers to secrets that its organization does not have. */
export class UnknownSecrets extends Error {
  override name = 'UnknownSecrets'
  readonly names: string[]
  constructor(names: string[]) {
    super(`Unknown secrets: ${names.join(', ')}`)
    this.names = names
  }
}

/**
 * Returns the names, sorted, of the secrets that a version's programs receive: those that its manifest refers to, by `${{ secrets.X }}`
 * or in the legacy list `deploy.secrets`, and those that every version receives.
 * @throws InvalidManifest for an expression that cannot be parsed
 */
export function secretNamesOf(manifest: Manifest, secrets: Variables): string[] {
  const referenced = [...namesInExpressions(manifest), ...(manifest.deploy?.secrets ?? [])].map((name) =>
    name.toUpperCase(),
  )
  const variables = manifest.deploy?.env ?? {}
  const automatic = Object.keys(secretsForVersion(secrets, manifest.deploy?.addons?.postgres != null))
  const received = [
    ...referenced.filter((name) => secrets[name] !== undefined),
    ...automatic.filter((name) => !(name in variables)),
  ]
  return [...new Set(received)].sort()
}

/**
 * Evaluates the environments of a manifest with the secrets of its organization. `deploy` also contains the secrets that every version
 * receives; variables of the manifest take precedence over these. Secret names in expressions are case-insensitive, since the console
 * stores them in upper case (spec 5).
 * @throws UnknownSecrets when a secret is missing and the expression has no fallback
 * @throws InvalidManifest for any other expression without a value
 */
export function evaluateEnvironments(manifest: Manifest, secrets: Variables, contexts: Contexts): Environments {
  const names = namesInExpressions(manifest)
  const legacyNames = manifest.deploy?.secrets ?? []
  const isUnknown = (name: string) => secrets[name.toUpperCase()] === undefined
  const missing = legacyNames.filter(isUnknown)
  if (missing.length > 0) throw new UnknownSecrets(distinctUpperCase(missing))
  const context = { ...contexts, secrets: pickSecrets(names, secrets) }
  let deploy: Manifest['deploy']
  try {
    deploy = manifest.eval(context).deploy
  } catch (error) {
    const required = names.some(isUnknown) ? requiredSecrets(manifest, isUnknown, context) : []
    if (required.length > 0) throw new UnknownSecrets(distinctUpperCase(required))
    throw new InvalidManifest(error instanceof Error ? error.message : String(error))
  }
  return {
    deploy: {
      ...secretsForVersion(secrets, deploy?.addons?.postgres != null),
      ...pickSecrets(legacyNames, secrets),
      ...deploy?.env,
    },
    init: { ...deploy?.init?.env },
    api: { ...deploy?.api?.env },
    hasura: { ...deploy?.addons?.hasura?.env },
    processors: Object.fromEntries((deploy?.processor ?? []).map((p) => [p.name, { ...p.env }])),
  }
}

function namesInExpressions(manifest: Manifest): string[] {
  try {
    return manifest.variables(['secrets'])
  } catch (error) {
    throw new InvalidManifest(error instanceof Error ? error.message : String(error))
  }
}

const distinctUpperCase = (names: string[]) => [...new Set(names.map((name) => name.toUpperCase()))]

function pickSecrets(names: string[], secrets: Variables): Variables {
  const entries = names.flatMap((name) => {
    const value = secrets[name.toUpperCase()]
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(entries)
}
