/** The height of a closed row, in pixels. */
export const rowPx = 22

/** The additional height of an open row. Sorted by index. */
export type ExpandedRow = { index: number; px: number }

/** Offset of a row from the top of the first. */
export function offsetOf(index: number, expandedRows: readonly ExpandedRow[]): number {
  let px = index * rowPx
  for (const expandedRow of expandedRows) if (expandedRow.index < index) px += expandedRow.px
  return px
}

/** The row at an offset, clamped to the first and last. */
export function indexAt(px: number, count: number, expandedRows: readonly ExpandedRow[]): number {
  let taller = 0
  for (const expandedRow of expandedRows) {
    const beginsAt = expandedRow.index * rowPx + taller
    if (px < beginsAt + rowPx) break
    if (px < beginsAt + rowPx + expandedRow.px) return expandedRow.index
    taller += expandedRow.px
  }
  return Math.max(0, Math.min(count - 1, Math.floor((px - taller) / rowPx)))
}
