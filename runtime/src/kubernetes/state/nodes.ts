import type { RuntimeClock } from '../../clock.ts'
import type { Node } from '../objects/object-types.ts'

/** The hosts of the cluster that do not respond. */
export class Nodes {
  readonly #clock: RuntimeClock
  readonly #lostSince = new Map<string, Date>()

  constructor(clock: RuntimeClock) {
    this.#clock = clock
  }

  /** Records a change of the host. Returns whether it was lost or responds again. */
  change(node: Node, isDeleted: boolean): boolean {
    const { name } = node.metadata
    const before = this.#lostSince.get(name)?.getTime()
    const lost = isDeleted ? this.#clock.now() : lostSince(node)
    if (lost) this.#lostSince.set(name, lost)
    else this.#lostSince.delete(name)
    return before !== lost?.getTime()
  }

  /** Returns when the host stopped responding; null if it responds, or if the cluster has not reported it yet. */
  lostSince(name: string | undefined): Date | null {
    return name === undefined ? null : (this.#lostSince.get(name) ?? null)
  }
}

/** Returns when the host's kubelet stopped reporting to the API server; null while it reports. */
function lostSince({ status, metadata }: Node): Date | null {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  if (!ready || ready.status === 'True') return null
  return new Date(ready.lastTransitionTime ?? metadata.creationTimestamp)
}
