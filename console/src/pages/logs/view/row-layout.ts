/** The heights of a collapsed row in pixels: `wide` with one line, and on phones with two. */
export const rowHeights = { wide: 22, phone: 44 }

/** The additional height of an expanded or wrapped row, and the sum of the additional heights above it, in pixels. */
export type ExpandedRow = { index: number; px: number; beforePx: number }

/** Sorts the additional heights by the index of their row, and computes the sums. */
export function expandedRowsOf(heights: readonly { index: number; px: number }[]): ExpandedRow[] {
  let beforePx = 0
  return heights
    .toSorted((a, b) => a.index - b.index)
    .map(({ index, px }) => {
      const row = { index, px, beforePx }
      beforePx += px
      return row
    })
}

/** The offset of a row from the top of the first row, in pixels. */
export function offsetOf(index: number, rowPx: number, expandedRows: readonly ExpandedRow[]): number {
  const above = lastWhere(expandedRows, (row) => row.index < index)
  return index * rowPx + (above ? above.beforePx + above.px : 0)
}

/** The index of the row at this offset from the top, in pixels; the first or the last row if the offset is above or below all rows. */
export function indexAt(px: number, count: number, rowPx: number, expandedRows: readonly ExpandedRow[]): number {
  const above = lastWhere(expandedRows, (row) => row.index * rowPx + row.beforePx + rowPx <= px)
  if (above && px < (above.index + 1) * rowPx + above.beforePx + above.px) return above.index
  const expandedPx = above ? above.beforePx + above.px : 0
  return Math.max(0, Math.min(count - 1, Math.floor((px - expandedPx) / rowPx)))
}

/** The last row for which `isAbove` is true, by binary search. `isAbove` must be true for all rows before that row. */
function lastWhere(rows: readonly ExpandedRow[], isAbove: (row: ExpandedRow) => boolean): ExpandedRow | undefined {
  let low = 0
  let high = rows.length
  while (low < high) {
    const middle = (low + high) >> 1
    const row = rows[middle]
    if (row && isAbove(row)) low = middle + 1
    else high = middle
  }
  return rows[low - 1]
}
