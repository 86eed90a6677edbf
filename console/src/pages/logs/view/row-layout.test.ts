import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { expandedRowsOf, indexAt, offsetOf, rowHeights } from './row-layout.ts'

test('indexAt returns the row at every offset, even inside and below expanded rows', () => {
  const arbitraryRows = fc.uniqueArray(fc.record({ index: fc.nat(29), px: fc.integer({ min: 0, max: 90 }) }), {
    selector: ({ index }) => index,
  })
  fc.assert(
    fc.property(
      arbitraryRows,
      fc.nat(29),
      fc.nat(200),
      fc.constantFrom(...Object.values(rowHeights)),
      (unsorted, index, pxInRow, rowPx) => {
        const expandedRows = expandedRowsOf(unsorted)
        const height = offsetOf(index + 1, rowPx, expandedRows) - offsetOf(index, rowPx, expandedRows)
        expect(height).toBe(rowPx + (expandedRows.find((expandedRow) => expandedRow.index === index)?.px ?? 0))
        expect(indexAt(offsetOf(index, rowPx, expandedRows) + (pxInRow % height), 30, rowPx, expandedRows)).toBe(index)
      },
    ),
  )
})

test('at positions above or below all rows, indexAt returns the first or the last row', () => {
  expect(indexAt(-50, 10, rowHeights.wide, [])).toBe(0)
  expect(indexAt(1e6, 10, rowHeights.wide, [])).toBe(9)
})
