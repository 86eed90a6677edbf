import { EXPR_PATTERN, Manifest } from '@subsquid/manifest'
import type { Contexts, Variables } from './environment.ts'

/** The maximum number of secrets to return: a user cannot read more of them in a message. */
const maxSecrets = 100
/** The maximum number of unknown secrets in one expression that are tried one by one. */
const maxAlternatives = 20

/**
 * Returns unknown secrets without which an expression of the manifest has no value: those without a fallback. Evaluates each expression
 * separately, since the time would otherwise grow with the square of the size of the manifest.
 */
export function requiredSecrets(
  manifest: Manifest,
  isUnknown: (name: string) => boolean,
  context: Contexts & { secrets: Variables },
): string[] {
  const required = new Set<string>()
  for (const expression of expressionsOf(manifest)) {
    for (const name of requiredBy(expression, isUnknown, context)) required.add(name)
    if (required.size >= maxSecrets) break
  }
  return [...required].slice(0, maxSecrets)
}

function requiredBy(
  expression: string,
  isUnknown: (name: string) => boolean,
  context: Contexts & { secrets: Variables },
): string[] {
  const manifest = new Manifest({ deploy: { env: { VALUE: expression }, processor: [] } } as unknown as Manifest)
  const unknown = manifest.variables(['secrets']).filter(isUnknown)
  const canEvaluateWith = (names: string[]) => {
    const placeholders = Object.fromEntries(names.map((name) => [name, 'placeholder']))
    try {
      manifest.eval({ ...context, secrets: { ...context.secrets, ...placeholders } })
      return true
    } catch {
      return false
    }
  }
  if (unknown.length === 0 || canEvaluateWith([])) return []
  if (unknown.length > maxAlternatives) return unknown
  const required = unknown.filter((missing) => !canEvaluateWith(unknown.filter((name) => name !== missing)))
  return required.length > 0 ? required : unknown
}

function expressionsOf({ deploy }: Manifest): Set<string> {
  const sections = [deploy, deploy?.init, deploy?.api, deploy?.addons?.hasura, ...(deploy?.processor ?? [])]
  const values = sections.flatMap((section) => (section ? Object.values(section.env ?? {}) : []))
  return new Set(values.flatMap((value) => value.match(EXPR_PATTERN) ?? []))
}
