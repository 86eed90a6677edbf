/**
 * The observed block rate of a chain. A move is an observation of a higher head. `moves` counts all moves; `msPerMove` and
 * `blocksPerMove` are averages over about the last fifty.
 */
export type BlockRate = { moves: number; msPerMove: number; blocksPerMove: number }

/** The block rate of a chain without observations. */
export const unknownBlockRate: BlockRate = { moves: 0, msPerMove: 0, blocksPerMove: 0 }

/** The number of recent moves in the average. */
const averagedMoves = 50
/** The duration of a move is capped at this multiple of the average, because a halted chain resumes at its old rate. */
const haltFactor = 10
/** The rate is unknown until this number of moves; fewer are not significant. */
const minMoves = 10

/** Returns the rate after the head moved by `blocks` in `ms` milliseconds. */
export function nextBlockRate({ moves, msPerMove, blocksPerMove }: BlockRate, ms: number, blocks: number): BlockRate {
  const weight = 1 / Math.min(moves + 1, averagedMoves)
  const cappedMs = moves >= minMoves ? Math.min(ms, msPerMove * haltFactor) : ms
  return {
    moves: moves + 1,
    msPerMove: Math.round(msPerMove + (cappedMs - msPerMove) * weight),
    blocksPerMove: roundToThousandths(blocksPerMove + (blocks - blocksPerMove) * weight),
  }
}

/** Returns the time per block in milliseconds; null until known. */
export const msPerBlockOf = ({ moves, msPerMove, blocksPerMove }: BlockRate): number | null =>
  moves >= minMoves && blocksPerMove > 0 ? msPerMove / blocksPerMove : null

/** Returns the usual time between moves of the head in milliseconds; null until known. */
export const msPerMoveOf = ({ moves, msPerMove }: BlockRate): number | null => (moves >= minMoves ? msPerMove : null)

const roundToThousandths = (n: number) => Math.round(n * 1000) / 1000
