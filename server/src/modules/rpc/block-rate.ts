/** How the height of a chain rises, as observed; means of about the last fifty rises. */
export type BlockRate = { moves: number; msPerMove: number; blocksPerMove: number }

export const unknownBlockRate: BlockRate = { moves: 0, msPerMove: 0, blocksPerMove: 0 }

const movesRemembered = 50
/** A pause this many times longer than usual is excluded: a halted chain resumes at its old rate. */
const haltFactor = 10
/** Fewer rises are not significant. */
const movesNeeded = 10

/** Updates the rate after a rise. */
export function nextBlockRate({ moves, msPerMove, blocksPerMove }: BlockRate, ms: number, blocks: number): BlockRate {
  const weight = 1 / Math.min(moves + 1, movesRemembered)
  const restMs = moves >= movesNeeded ? Math.min(ms, msPerMove * haltFactor) : ms
  return {
    moves: moves + 1,
    msPerMove: Math.round(msPerMove + (restMs - msPerMove) * weight),
    blocksPerMove: rounded(blocksPerMove + (blocks - blocksPerMove) * weight),
  }
}

/** Time per block; null until known. */
export const msPerBlockOf = ({ moves, msPerMove, blocksPerMove }: BlockRate): number | null =>
  moves >= movesNeeded && blocksPerMove > 0 ? msPerMove / blocksPerMove : null

/** Usual time until the height rises; null until known. */
export const msPerMoveOf = ({ moves, msPerMove }: BlockRate): number | null => (moves >= movesNeeded ? msPerMove : null)

const rounded = (n: number) => Math.round(n * 1000) / 1000
