const waiting = new Set<() => void>()

/**
 * Draws one chart a task, so that a page of many does not hold up what one does meanwhile. Returns the way to give up the
 * turn.
 */
export function inTurn(draw: () => void): () => void {
  if (waiting.size === 0) setTimeout(next)
  waiting.add(draw)
  return () => void waiting.delete(draw)
}

function next(): void {
  const [draw] = waiting
  if (!draw) return
  waiting.delete(draw)
  if (waiting.size > 0) setTimeout(next)
  draw()
}
