import type { Logger } from 'pino'
import type { Chain } from '../../modules/chains/index.ts'
import type { Protocol } from './protocol.ts'
import { UpstreamError, type Block, type Upstream } from './upstream.ts'

/** Depth at which a block is final when no node reports finality. Greater than any known reorganization of such a chain. */
const defaultFinalityBlocks = 256
/**
 * When all nodes are below the served head for this long, the chain itself was rolled back: a devnet was reset, or its operators
 * reverted blocks.
 */
const rollbackAfterMs = 30_000
/** Number of final blocks whose hashes are compared between nodes. */
const maxFinalHashes = 512
/** How many blocks above its verified head a node may repeatedly claim a head and still count as healthy. */
const toleratedBlocks = 8

/**
 * Tracks the tip of a chain. A claimed head counts only once the node has returned its block. A served head never moves
 * backwards, unless the chain was reset or rolled back. A block is final when all healthy nodes that report finality report it as
 * final, or, if none does, when it is deep enough below the heads of all healthy nodes.
 */
export class Heads {
  /** Chain identity shared by all healthy nodes; null before the first response. */
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

  /** Polls one node for its chain, head and finalized block, and sets its `fault`. Never rejects. */
  async poll(node: Upstream): Promise<void> {
    try {
      if (node.identity === null) await this.#identify(node)
      const claimed = await this.#protocol.claimedHead(node)
      // A lower head may mean that another chain is now served at the same address.
      if (node.head && claimed < node.head.number) await this.#identify(node)
      const isVerified = await this.#verifyHead(node, claimed)
      node.failedHeadChecks = isVerified ? 0 : node.failedHeadChecks + 1
      await this.#pollFinal(node)
      // The breaker is reset only when a faulty node recovers: other nodes may pass a poll and still fail calls.
      if (node.fault !== null) node.breaker.recordSuccess()
      node.fault = unprovenClaimFault(node, claimed) ?? this.#conflictWithOthers(node)
    } catch (error) {
      node.fault = sentenceOf(error)
      if (error instanceof UpstreamError) {
        node.breaker.recordFailure()
        // The node may serve another chain when it responds again.
        if (!error.wasSent) node.identity = null
      }
    }
    this.#updateChain()
    for (const wake of this.#waiting.splice(0)) wake()
  }

  /** The nodes without a fault, in the order of the configuration. */
  get healthy(): Upstream[] {
    return this.#nodes.filter((n) => n.fault === null)
  }

  /** Highest verified head of the healthy nodes; −1 before there is one. */
  get best(): number {
    return this.healthy.reduce((highest, n) => Math.max(highest, n.head?.number ?? -1), -1)
  }

  /** The highest block that was served as the latest; −1 before there is one. */
  get servedLatest(): number {
    return this.#servedLatest?.number ?? -1
  }

  /** Highest block whose responses may be cached; −1 when unknown. */
  get finalNumber(): number {
    return this.#finalNumber
  }

  /** Resolves after the next poll of any node, or after `timeoutMs`. */
  async nextPoll(timeoutMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    const timer = setTimeout(resolve, timeoutMs)
    await promise
    clearTimeout(timer)
  }

  /**
   * Reads the node's head again. Resolves to true if it is verified, and to false when the node claims a block that it
   * cannot return.
   * @throws UpstreamError
   */
  async refresh(node: Upstream): Promise<boolean> {
    const claimed = await this.#protocol.claimedHead(node)
    if (node.head !== null && claimed <= node.head.number) return true
    return this.#verifyHead(node, claimed)
  }

  /** Returns the latest block to serve to callers; null before any block is known. */
  serveLatest(): Block | null {
    const best = this.healthy.reduce<Block | null>((highest, n) => higherBlock(highest, n.head), null)
    this.#servedLatest = higherBlock(this.#servedLatest, best)
    return this.#servedLatest
  }

  /** Returns the latest finalized block to serve to callers; null when no node reports finality. */
  serveFinal(): Block | null {
    const best = this.healthy.reduce<Block | null>((highest, n) => higherBlock(highest, n.final), null)
    this.#servedFinal = higherBlock(this.#servedFinal, best)
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

  async #verifyHead(node: Upstream, claimed: number): Promise<boolean> {
    if (!Number.isSafeInteger(claimed) || claimed < 0) throw new UpstreamError('it does not report its head', true)
    const block = await this.#protocol.readBlock(node, claimed)
    if (block) node.head = block
    return block !== null
  }

  async #pollFinal(node: Upstream): Promise<void> {
    const final = await this.#protocol.latestFinal(node)
    const head = node.head?.number ?? -1
    // A finalized block above the node's verified head is not credible.
    node.final = final && final.number <= head ? final : null
  }

  /** Returns how this node contradicts the other healthy nodes; null when it does not. */
  #conflictWithOthers(node: Upstream): string | null {
    if (!isSameChain(this.identity, node.identity) && this.#others(node).length > 0)
      return 'It serves a different chain than the other nodes.'
    const { final } = node
    if (final === null || final.hash === '') return null
    const knownHash = this.#finalHashes.get(final.number)
    if (knownHash !== undefined && knownHash !== final.hash && this.#others(node).length > 0)
      return `Its finalized block ${final.number} differs from that of the other nodes.`
    this.#finalHashes.set(final.number, final.hash)
    const [oldest] = this.#finalHashes.keys()
    if (this.#finalHashes.size > maxFinalHashes && oldest !== undefined) this.#finalHashes.delete(oldest)
    return null
  }

  #others(node: Upstream): Upstream[] {
    return this.healthy.filter((n) => n !== node)
  }

  #updateChain(): void {
    const { healthy } = this
    const [first] = healthy
    if (!first) return
    if (this.identity === null || !healthy.some((n) => isSameChain(n.identity, this.identity))) this.#switchChain(first)
    this.#finalNumber = Math.max(this.#finalNumber, this.#agreedFinal(healthy))
    this.#detectRollback()
  }

  #agreedFinal(healthy: readonly Upstream[]): number {
    const reported = healthy.flatMap((n) => (n.final ? [n.final.number] : []))
    if (reported.length > 0) return Math.min(...reported)
    const lowest = Math.min(...healthy.map((n) => n.head?.number ?? -1))
    return lowest - (this.#chain.finalityBlocks ?? defaultFinalityBlocks)
  }

  #detectRollback(): void {
    if (this.best >= this.servedLatest) {
      this.#behindSinceMs = null
      return
    }
    this.#behindSinceMs ??= performance.now()
    if (performance.now() - this.#behindSinceMs < rollbackAfterMs) return
    this.#log.warn({ chain: this.#chain.id, from: this.servedLatest, to: this.best }, 'chain head regressed')
    this.#clear()
  }

  #switchChain(node: Upstream): void {
    if (this.identity !== null) this.#log.warn({ chain: this.#chain.id }, 'chain was reset')
    this.identity = node.identity
    this.#clear()
  }

  #clear(): void {
    this.#servedLatest = null
    this.#servedFinal = null
    this.#finalNumber = -1
    this.#finalHashes.clear()
    this.#behindSinceMs = null
  }
}

/**
 * Returns a fault for a node that repeatedly claims a head far above the block it can return; otherwise null. Load balancers often
 * report a block slightly before all nodes behind them have it, which is not a fault.
 */
function unprovenClaimFault(node: Upstream, claimed: number): string | null {
  const verified = node.head?.number ?? -1
  const isUnproven =
    node.head === null ? node.failedHeadChecks > 0 : node.failedHeadChecks > 1 && claimed - verified > toleratedBlocks
  return isUnproven ? `It claims block ${claimed} but cannot return it.` : null
}

/** Compares `<chain id> <genesis hash>`; the hash is missing when a node has pruned that block. */
function isSameChain(a: string | null, b: string | null): boolean {
  if (a === null || b === null || a === b) return true
  const [[idA, hashA], [idB, hashB]] = [a.split(' '), b.split(' ')]
  return idA === idB && (!hashA || !hashB)
}

const higherBlock = (a: Block | null, b: Block | null): Block | null => (!a || (b && b.number > a.number) ? b : a)

function sentenceOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.startsWith('It ') ? message : `${message.charAt(0).toUpperCase()}${message.slice(1)}.`
}
