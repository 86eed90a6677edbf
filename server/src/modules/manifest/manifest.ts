import { Manifest } from '@subsquid/manifest'
import { load } from 'js-yaml'
import { isProcessor } from '../containers.ts'

/** The maximum length of a message: the parser's messages contain the values of the manifest, and list every allowed value. */
const maxMessageLength = 4_000

/** The manifest is not valid. The message is the parser's where possible. */
export class InvalidManifest extends Error {
  override name = 'InvalidManifest'
  constructor(message: string) {
    super(message.length > maxMessageLength ? `${message.slice(0, maxMessageLength)}…` : message)
  }
}

/** Limits of a manifest, far above the size of real ones, so that parsing takes little time and memory. */
const maxBytes = 200_000
const maxNodes = 5_000
/** The parser compares each item of a list with all others, or with all allowed values. */
const maxListItems = 500

/**
 * Reads `squid.yaml` as leniently as the public client does: unknown keys are allowed.
 * @throws InvalidManifest
 */
export function parseManifest(raw: string): Manifest {
  if (Buffer.byteLength(raw) > maxBytes) throw new InvalidManifest(`It is larger than ${maxBytes / 1000} kB.`)
  rejectLargeValues(raw)
  const { value, error } = Manifest.parse(raw, { validation: { allowUnknown: true } })
  if (error) throw new InvalidManifest(error.message)
  rejectReservedNames(value)
  return value
}

/** Rejects long lists, and manifests whose YAML aliases expand a few lines to billions of values, all of which the parser would copy. */
function rejectLargeValues(raw: string): void {
  let nodes: number
  try {
    nodes = countNodes(load(raw), new Map())
  } catch (error) {
    if (error instanceof InvalidManifest) throw error
    // The text is not YAML: the parser of manifests has a better message for this error.
    return
  }
  if (nodes > maxNodes)
    throw new InvalidManifest(`It has more than ${maxNodes} values, including those to which its aliases expand.`)
}

/**
 * Counts the values after all aliases are expanded; infinite for a value that contains itself.
 * @throws InvalidManifest for a long list
 */
function countNodes(value: unknown, counts: Map<object, number>): number {
  if (typeof value !== 'object' || value === null) return 1
  const counted = counts.get(value)
  if (counted !== undefined) return counted
  if (Array.isArray(value) && value.length > maxListItems)
    throw new InvalidManifest(`It has a list with more than ${maxListItems} items.`)
  counts.set(value, Infinity)
  let nodes = 1
  for (const child of Object.values(value)) nodes += countNodes(child, counts)
  counts.set(value, nodes)
  return nodes
}

/** Rejects processors with a name that is reserved for other containers and other sources of log lines. */
function rejectReservedNames(manifest: Manifest): void {
  const reserved = manifest.deploy?.processor.find((p) => !isProcessor(p) || p.name === 'db' || p.name === 'shoal')
  if (reserved) throw new InvalidManifest(`A processor cannot be called "${reserved.name}": this name is reserved.`)
}
