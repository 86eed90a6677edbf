import type { Manifest } from '@subsquid/manifest'
import { givenSecrets } from './given-secrets.ts'
import { InvalidManifest } from './manifest.ts'

export type Variables = Record<string, string>

/** The values that `${{ … }}` in a manifest can refer to (contract 4). */
export type Contexts = {
  squid: { id: number; name: string; slot: string; reference: string; organization: string }
  addons: {
    postgres?: { host: string; port: number; database: string; user: string; password: string; url: string }
    /** `${{ addons.rpc.eth.http }}` */
    rpc?: Record<string, { http: string }>
  }
}

/** The environments of a manifest's sections, evaluated. */
export type Environments = { deploy: Variables; init: Variables; api: Variables; processors: Record<string, Variables> }

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
 * Names of the secrets that a version's programs receive: those that its manifest refers to, by `${{ secrets.X }}` or in the legacy
 * list `deploy.secrets`, and those that every version receives.
 * @throws InvalidManifest for an expression that cannot be parsed
 */
export function secretNamesOf(manifest: Manifest, secrets: Variables): string[] {
  const named = [...namesInExpressions(manifest), ...(manifest.deploy?.secrets ?? [])].map((name) => name.toUpperCase())
  const own = manifest.deploy?.env ?? {}
  const given = Object.keys(givenSecrets(secrets, manifest.deploy?.addons?.postgres != null))
  const held = [...named.filter((name) => secrets[name] !== undefined), ...given.filter((name) => !(name in own))]
  return [...new Set(held)].sort()
}

/**
 * Evaluates the environments. They contain all secrets of the organization; variables set by the manifest take precedence. Names of
 * secrets in expressions are case-insensitive, since the console stores them in upper case (spec 5).
 * @throws UnknownSecrets when a secret is missing and the expression has no fallback
 * @throws InvalidManifest for any other expression without a value
 */
export function evaluateEnvironments(manifest: Manifest, secrets: Variables, contexts: Contexts): Environments {
  const used = namesInExpressions(manifest)
  const listed = manifest.deploy?.secrets ?? []
  const isUnknown = (name: string) => secrets[name.toUpperCase()] === undefined
  const missing = listed.filter(isUnknown)
  if (missing.length > 0) throw new UnknownSecrets(upper(missing))
  const context = { ...contexts, secrets: pick(used, secrets) }
  let deploy: Manifest['deploy']
  try {
    deploy = manifest.eval(context).deploy
  } catch (error) {
    const unknown = used.filter(isUnknown)
    if (unknown.length > 0) throw new UnknownSecrets(upper(requiredSecrets(manifest, unknown, context)))
    throw new InvalidManifest(error instanceof Error ? error.message : String(error))
  }
  return {
    deploy: { ...givenSecrets(secrets, deploy?.addons?.postgres != null), ...pick(listed, secrets), ...deploy?.env },
    init: { ...deploy?.init?.env },
    api: { ...deploy?.api?.env },
    processors: Object.fromEntries((deploy?.processor ?? []).map((p) => [p.name, { ...p.env }])),
  }
}

/** The unknown secrets without which the manifest cannot be evaluated; those with a fallback in their expression are left out. */
function requiredSecrets(manifest: Manifest, unknown: string[], context: Contexts & { secrets: Variables }): string[] {
  const works = (missing: string) => {
    const others = unknown.filter((name) => name !== missing).map((name) => [name, 'placeholder'] as const)
    try {
      manifest.eval({ ...context, secrets: { ...context.secrets, ...Object.fromEntries(others) } })
      return true
    } catch {
      return false
    }
  }
  const needed = unknown.filter((name) => !works(name))
  return needed.length > 0 ? needed : unknown
}

function namesInExpressions(manifest: Manifest): string[] {
  try {
    return manifest.variables(['secrets'])
  } catch (error) {
    throw new InvalidManifest(error instanceof Error ? error.message : String(error))
  }
}

const upper = (names: string[]) => [...new Set(names.map((name) => name.toUpperCase()))]

function pick(names: string[], secrets: Variables): Variables {
  const found = names.flatMap((name) => {
    const value = secrets[name.toUpperCase()]
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(found)
}
