const queue = new Set<() => void>()

/**
 * Draws one chart a task, so that a page of many does not hold up what one does meanwhile. Returns the way to give up the
 * turn.
 */
export function queueDraw(draw: () => void): () => void {
  if (queue.size === 0) setTimeout(drawNext)
  queue.add(draw)
  return () => void queue.delete(draw)
}

function drawNext(): void {
  const [draw] = queue
  if (!draw) return
  queue.delete(draw)
  if (queue.size > 0) setTimeout(drawNext)
  draw()
}
