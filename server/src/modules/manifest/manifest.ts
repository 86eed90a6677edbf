import { Manifest, ManifestParsingError } from '@subsquid/manifest'
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
 * The parser, with a check of the values that it has read from the YAML text before it copies and compares them. `parse` calls
 * `this.validate`, so the check needs no other YAML reader, which might expand the same text to fewer values.
 */
class CheckedManifest extends Manifest {
  static override validate(...args: Parameters<typeof Manifest.validate>) {
    const message = sizeProblem(args[0])
    if (message === null) return super.validate(...args)
    return { error: Object.assign(new ManifestParsingError(), { message }) }
  }
}

/**
 * Reads `squid.yaml` as leniently as the public client does: unknown keys are allowed.
 * @throws InvalidManifest
 */
export function parseManifest(raw: string): Manifest {
  if (Buffer.byteLength(raw) > maxBytes) throw new InvalidManifest(`It is larger than ${maxBytes / 1000} kB.`)
  const { value, error } = CheckedManifest.parse(raw, { validation: { allowUnknown: true } })
  if (error) throw new InvalidManifest(error.message)
  rejectReservedNames(value)
  return value
}

/** Describes a long list, or YAML aliases that expand a few lines to billions of values; null if there is none. */
function sizeProblem(value: unknown): string | null {
  const counts = new Map<object, number>()
  const nodes = countNodes(value, counts)
  const hasLongList = [...counts.keys()].some((object) => Array.isArray(object) && object.length > maxListItems)
  if (hasLongList) return `It has a list with more than ${maxListItems} items.`
  return nodes > maxNodes ? `It has more than ${maxNodes} values, including those to which its aliases expand.` : null
}

/** Counts the values after all aliases are expanded; infinite for a value that contains itself. */
function countNodes(value: unknown, counts: Map<object, number>): number {
  if (typeof value !== 'object' || value === null) return 1
  const counted = counts.get(value)
  if (counted !== undefined) return counted
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
