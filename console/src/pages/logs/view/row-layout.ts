/** The heights of a collapsed row in pixels: with one line, and with two on phones. */
export const rowHeights = { wide: 22, phone: 44 }

/** The additional height of an expanded row. Arrays of them are sorted by index. */
export type ExpandedRow = { index: number; px: number }

/** The offset of a row from the top of the first row, in pixels. */
export function offsetOf(index: number, rowPx: number, expandedRows: readonly ExpandedRow[]): number {
  let px = index * rowPx
  for (const expandedRow of expandedRows) if (expandedRow.index < index) px += expandedRow.px
  return px
}

/** The index of the row at an offset, clamped to the first and last row. */
export function indexAt(px: number, count: number, rowPx: number, expandedRows: readonly ExpandedRow[]): number {
  let expandedPx = 0
  for (const expandedRow of expandedRows) {
    const rowTopPx = expandedRow.index * rowPx + expandedPx
    if (px < rowTopPx + rowPx) break
    if (px < rowTopPx + rowPx + expandedRow.px) return expandedRow.index
    expandedPx += expandedRow.px
  }
  return Math.max(0, Math.min(count - 1, Math.floor((px - expandedPx) / rowPx)))
}
