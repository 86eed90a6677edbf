import { Manifest } from '@subsquid/manifest'
import { load } from 'js-yaml'

/** What is wrong with a manifest, in the words of its own parser. */
export class InvalidManifest extends Error {
  override name = 'InvalidManifest'
}

const maxBytes = 200_000
const maxNodes = 20_000

/**
 * Reads `squid.yaml` as leniently as the public client does: unknown keys are allowed (contract 3).
 * @throws InvalidManifest
 */
export function parseManifest(raw: string): Manifest {
  if (Buffer.byteLength(raw) > maxBytes) throw new InvalidManifest(`It is larger than ${maxBytes / 1000} kB.`)
  refuseBombs(raw)
  const { value, error } = Manifest.parse(raw, { validation: { allowUnknown: true } })
  if (error) throw new InvalidManifest(error.message)
  refuseReservedNames(value)
  return value
}

/** Aliases let a few lines of YAML stand for billions of values, which the parser's deep copies would all visit. */
function refuseBombs(raw: string): void {
  let isTooLarge: boolean
  try {
    isTooLarge = nodesOf(load(raw), new Map()) > maxNodes
  } catch {
    // Not YAML at all: the parser says so better.
    return
  }
  if (isTooLarge) throw new InvalidManifest(`Its aliases stand for more than ${maxNodes} values.`)
}

/** How many values it is without sharing; infinite when it contains itself. */
function nodesOf(value: unknown, seen: Map<object, number>): number {
  if (typeof value !== 'object' || value === null) return 1
  const known = seen.get(value)
  if (known !== undefined) return known
  seen.set(value, Infinity)
  let nodes = 1
  for (const child of Object.values(value)) nodes += nodesOf(child, seen)
  seen.set(value, nodes)
  return nodes
}

/** A processor's name is its container's name, and these are taken. */
function refuseReservedNames(manifest: Manifest): void {
  const bad = manifest.deploy?.processor.find((p) => /^(init|api|db|hasura|shoal|api-\d+)$/.test(p.name))
  if (bad) throw new InvalidManifest(`A processor cannot be called "${bad.name}": another container has that name.`)
}
