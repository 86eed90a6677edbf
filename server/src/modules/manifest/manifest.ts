import { Manifest } from '@subsquid/manifest'
import { load } from 'js-yaml'

/** The manifest is not valid. The message is that of its parser where possible. */
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

/** Refuses manifests in which a few lines of YAML expand to billions of values by aliases, all of which the parser would copy. */
function refuseBombs(raw: string): void {
  let isTooLarge: boolean
  try {
    isTooLarge = nodesOf(load(raw), new Map()) > maxNodes
  } catch {
    // Not YAML: the parser returns a better message.
    return
  }
  if (isTooLarge) throw new InvalidManifest(`Its aliases stand for more than ${maxNodes} values.`)
}

/** The number of values after all aliases are expanded; infinite for a value that contains itself. */
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

/** Refuses processors with the name of another container: a processor's container has the processor's name. */
function refuseReservedNames(manifest: Manifest): void {
  const bad = manifest.deploy?.processor.find((p) => /^(init|api|db|hasura|shoal|api-\d+)$/.test(p.name))
  if (bad) throw new InvalidManifest(`A processor cannot be called "${bad.name}": another container has that name.`)
}
