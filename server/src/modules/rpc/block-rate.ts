/** How the height of a chain moves, learned from looking at it; means of about the last fifty moves. */
export type BlockRate = { moves: number; msPerMove: number; blocksPerMove: number }

export const unknownBlockRate: BlockRate = { moves: 0, msPerMove: 0, blocksPerMove: 0 }

const movesRemembered = 50
/** A rest this many times as long as usual is no pace: a chain that was halted goes on as before. */
const haltFactor = 10
/** Fewer say little. */
const movesNeeded = 10

/** After one more move. */
export function nextBlockRate({ moves, msPerMove, blocksPerMove }: BlockRate, ms: number, blocks: number): BlockRate {
  const weight = 1 / Math.min(moves + 1, movesRemembered)
  const restMs = moves >= movesNeeded ? Math.min(ms, msPerMove * haltFactor) : ms
  return {
    moves: moves + 1,
    msPerMove: Math.round(msPerMove + (restMs - msPerMove) * weight),
    blocksPerMove: rounded(blocksPerMove + (blocks - blocksPerMove) * weight),
  }
}

/** What a block takes; null until that is known. */
export const msPerBlockOf = ({ moves, msPerMove, blocksPerMove }: BlockRate): number | null =>
  moves >= movesNeeded && blocksPerMove > 0 ? msPerMove / blocksPerMove : null

/** What usually passes until the height rises again; null until that is known. */
export const msPerMoveOf = ({ moves, msPerMove }: BlockRate): number | null => (moves >= movesNeeded ? msPerMove : null)

const rounded = (n: number) => Math.round(n * 1000) / 1000
