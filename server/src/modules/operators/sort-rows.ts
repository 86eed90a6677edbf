/** Returns the rows sorted by a key, and by id where keys are equal, so that pages do not overlap. */
export function sortRows<T extends { id: number }>(
  rows: readonly T[],
  keyOf: (row: T) => string | number,
  order: 'asc' | 'desc',
): T[] {
  const direction = order === 'asc' ? 1 : -1
  return rows
    .map((row) => ({ row, key: keyOf(row) }))
    .sort((a, b) => (a.key < b.key ? -direction : a.key > b.key ? direction : a.row.id - b.row.id))
    .map(({ row }) => row)
}
