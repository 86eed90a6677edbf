/** The height of a closed row, in pixels. */
export const rowPx = 22

/** What an open row is taller by. Sorted by index. */
export type Extra = { index: number; px: number }

/** Where a row begins below the top of the first. */
export function offsetOf(index: number, extras: readonly Extra[]): number {
  let px = index * rowPx
  for (const extra of extras) if (extra.index < index) px += extra.px
  return px
}

/** The row at a height; the first or the last one beyond the ends. */
export function indexAt(px: number, count: number, extras: readonly Extra[]): number {
  let taller = 0
  for (const extra of extras) {
    const beginsAt = extra.index * rowPx + taller
    if (px < beginsAt + rowPx) break
    if (px < beginsAt + rowPx + extra.px) return extra.index
    taller += extra.px
  }
  return Math.max(0, Math.min(count - 1, Math.floor((px - taller) / rowPx)))
}
