import type { Logger } from 'pino'
import type { Chain } from '../../modules/rpc/index.ts'
import type { Protocol } from './protocol.ts'
import { UpstreamError, type Block, type Upstream } from './upstream.ts'

/** Where nodes do not say what is final: deeper than any reorganization that chains without finality have seen. */
const defaultFinalityBlocks = 256
/** After so long below the served head, the chain itself must have gone back: a devnet made anew, or a rollback by its operators. */
const rollbackAfterMs = 30_000
const finalHashesKept = 512
const toleratedBlocks = 8

/**
 * What is known of the tip of a chain. A claimed head counts only when the node has shown its block; a served head never goes
 * back while this process lives; and what is final is what all healthy nodes call final.
 */
export class Heads {
  /** Of all healthy nodes; null before the first is seen. */
  identity: string | null = null
  readonly #chain: Chain
  readonly #protocol: Protocol
  readonly #log: Logger
  readonly #nodes: readonly Upstream[]
  #servedLatest: Block | null = null
  #servedFinal: Block | null = null
  #finalNumber = -1
  readonly #finalHashes = new Map<number, string>()
  #behindSinceMs: number | null = null
  #waiting: (() => void)[] = []

  constructor(chain: Chain, protocol: Protocol, nodes: readonly Upstream[], log: Logger) {
    this.#chain = chain
    this.#protocol = protocol
    this.#nodes = nodes
    this.#log = log
  }

  /** Looks at one node: which chain, how high, what is final. Whatever is wrong becomes its `fault`. */
  async look(node: Upstream): Promise<void> {
    try {
      if (node.identity === null) await this.#identify(node)
      const claimed = await this.#protocol.claim(node)
      // A head that went back can mean that another chain was put behind the same address.
      if (node.head && claimed < node.head.number) await this.#identify(node)
      const isShown = await this.#show(node, claimed)
      node.unshown = isShown ? 0 : node.unshown + 1
      await this.#lookAtFinal(node)
      // Back again. One that was never away may answer this and fail at calls: that is for the breaker to tell.
      if (node.fault !== null) node.breaker.succeeded()
      node.fault = disprovenClaim(node, claimed) ?? this.#quarrel(node)
    } catch (error) {
      node.fault = sentenceOf(error)
      if (error instanceof UpstreamError) {
        node.breaker.failed()
        // It may come back as something else.
        if (!error.wasSent) node.identity = null
      }
    }
    this.#settle()
    for (const wake of this.#waiting.splice(0)) wake()
  }

  get healthy(): Upstream[] {
    return this.#nodes.filter((n) => n.fault === null)
  }

  /** The highest block any healthy node has shown; −1 before the first. */
  get best(): number {
    return this.healthy.reduce((most, n) => Math.max(most, n.head?.number ?? -1), -1)
  }

  get servedLatest(): number {
    return this.#servedLatest?.number ?? -1
  }

  /** Up to here answers may be kept; −1 when not known. */
  get finalNumber(): number {
    return this.#finalNumber
  }

  /** Resolves when a node was looked at, or after the time. */
  async news(withinMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    const timer = setTimeout(resolve, withinMs)
    await promise
    clearTimeout(timer)
  }

  /** Asks the node how high it is, and notes it. False when it claims a block that it cannot show. @throws UpstreamError */
  async refresh(node: Upstream): Promise<boolean> {
    const claimed = await this.#protocol.claim(node)
    if (node.head !== null && claimed <= node.head.number) return true
    return this.#show(node, claimed)
  }

  /** The newest block to tell a caller of. Null before any is known. */
  serveLatest(): Block | null {
    const best = this.healthy.reduce<Block | null>((most, n) => higher(most, n.head), null)
    this.#servedLatest = higher(this.#servedLatest, best)
    return this.#servedLatest
  }

  /** The newest final block to tell a caller of. Null when no node says what is final. */
  serveFinal(): Block | null {
    const best = this.healthy.reduce<Block | null>((most, n) => higher(most, n.final), null)
    this.#servedFinal = higher(this.#servedFinal, best)
    return this.#servedFinal
  }

  async #identify(node: Upstream): Promise<void> {
    const { identity, chainId } = await this.#protocol.identity(node)
    const expected = this.#chain.chainId
    if (expected !== null && chainId !== null && expected !== chainId)
      throw new Error(`It serves the chain with id ${chainId}, not ${expected}.`)
    if (node.identity !== null && !isSameChain(node.identity, identity)) [node.head, node.final] = [null, null]
    node.identity = identity
  }

  async #show(node: Upstream, claimed: number): Promise<boolean> {
    if (!Number.isSafeInteger(claimed) || claimed < 0) throw new UpstreamError('it does not say how high it is', true)
    const block = await this.#protocol.show(node, claimed)
    if (block) node.head = block
    return block !== null
  }

  async #lookAtFinal(node: Upstream): Promise<void> {
    const final = await this.#protocol.final(node)
    const head = node.head?.number ?? -1
    // Nobody's final block is above a block it can show.
    node.final = final && final.number <= head ? final : null
  }

  /** Why this node cannot be right, given what the others said before it. */
  #quarrel(node: Upstream): string | null {
    if (!isSameChain(this.identity, node.identity) && this.#others(node).length > 0)
      return 'It serves another chain than the other nodes.'
    const { final } = node
    if (final === null || final.hash === '') return null
    const known = this.#finalHashes.get(final.number)
    if (known !== undefined && known !== final.hash && this.#others(node).length > 0)
      return `It calls another block ${final.number} final than the other nodes.`
    this.#finalHashes.set(final.number, final.hash)
    const [oldest] = this.#finalHashes.keys()
    if (this.#finalHashes.size > finalHashesKept && oldest !== undefined) this.#finalHashes.delete(oldest)
    return null
  }

  #others(node: Upstream): Upstream[] {
    return this.healthy.filter((n) => n !== node)
  }

  #settle(): void {
    const { healthy } = this
    const [first] = healthy
    if (!first) return
    if (this.identity === null || !healthy.some((n) => isSameChain(n.identity, this.identity))) this.#begin(first)
    this.#finalNumber = Math.max(this.#finalNumber, this.#agreedFinal(healthy))
    this.#lookForGoingBack()
  }

  #agreedFinal(healthy: readonly Upstream[]): number {
    const said = healthy.flatMap((n) => (n.final ? [n.final.number] : []))
    if (said.length > 0) return Math.min(...said)
    const lowest = Math.min(...healthy.map((n) => n.head?.number ?? -1))
    return lowest - (this.#chain.finalityBlocks ?? defaultFinalityBlocks)
  }

  #lookForGoingBack(): void {
    if (this.best >= this.servedLatest) {
      this.#behindSinceMs = null
      return
    }
    this.#behindSinceMs ??= performance.now()
    if (performance.now() - this.#behindSinceMs < rollbackAfterMs) return
    this.#log.warn({ chain: this.#chain.id, from: this.servedLatest, to: this.best }, 'the chain went back')
    this.#forget()
  }

  #begin(first: Upstream): void {
    if (this.identity !== null) this.#log.warn({ chain: this.#chain.id }, 'the chain was made anew')
    this.identity = first.identity
    this.#forget()
  }

  #forget(): void {
    this.#servedLatest = null
    this.#servedFinal = null
    this.#finalNumber = -1
    this.#finalHashes.clear()
    this.#behindSinceMs = null
  }
}

/**
 * Balancers in front of many nodes often claim a block a moment before each of them has it: that is no lie, the block is just not
 * believed yet. Claiming far more than one can show, twice, is.
 */
function disprovenClaim(node: Upstream, claimed: number): string | null {
  const shown = node.head?.number ?? -1
  const isLie = node.head === null ? node.unshown > 0 : node.unshown > 1 && claimed - shown > toleratedBlocks
  return isLie ? `It claims block ${claimed} and cannot show it.` : null
}

/** `<chain id> <hash of the first block>`, where the hash is missing when a node has thrown that block away. */
function isSameChain(a: string | null, b: string | null): boolean {
  if (a === null || b === null || a === b) return true
  const [[idA, hashA], [idB, hashB]] = [a.split(' '), b.split(' ')]
  return idA === idB && (!hashA || !hashB)
}

const higher = (a: Block | null, b: Block | null): Block | null => (!a || (b && b.number > a.number) ? b : a)

function sentenceOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.startsWith('It ') ? message : `${message.charAt(0).toUpperCase()}${message.slice(1)}.`
}
