const queue = new Set<() => void>()

/**
 * Draws the first chart before the browser paints the frame, and each of the others in its own event-loop task, so that a page with many
 * charts stays responsive. Returns a function that cancels the draw.
 */
export function queueDraw(draw: () => void): () => void {
  if (queue.size === 0) queueMicrotask(drawNext)
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
