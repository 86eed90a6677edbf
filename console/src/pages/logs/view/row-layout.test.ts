import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { indexAt, offsetOf, rowPx } from './row-layout.ts'

test('indexAt returns the row at every offset, also inside and below expanded rows', () => {
  const arbitraryRows = fc.uniqueArray(fc.record({ index: fc.nat(29), px: fc.integer({ min: 0, max: 90 }) }), {
    selector: ({ index }) => index,
  })
  fc.assert(
    fc.property(arbitraryRows, fc.nat(29), fc.nat(200), (unsorted, index, pxInRow) => {
      const expandedRows = unsorted.toSorted((a, b) => a.index - b.index)
      const height = offsetOf(index + 1, expandedRows) - offsetOf(index, expandedRows)
      expect(height).toBe(rowPx + (expandedRows.find((expandedRow) => expandedRow.index === index)?.px ?? 0))
      expect(indexAt(offsetOf(index, expandedRows) + (pxInRow % height), 30, expandedRows)).toBe(index)
    }),
  )
})

test('positions beyond the ends map to the first and the last row', () => {
  expect(indexAt(-50, 10, [])).toBe(0)
  expect(indexAt(1e6, 10, [])).toBe(9)
})
