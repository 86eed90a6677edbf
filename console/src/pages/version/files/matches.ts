/** Where `search` begins in `text`, in any case; nothing for an empty search. Matches do not overlap. */
export function matchesIn(text: string, search: string): number[] {
  if (search === '') return []
  const [hay, needle] = [text.toLowerCase(), search.toLowerCase()]
  const found: number[] = []
  for (let at = hay.indexOf(needle); at >= 0; at = hay.indexOf(needle, at + needle.length)) found.push(at)
  return found
}

type Piece = { start: number; length: number }

/** The index of the piece that holds a place, where the pieces lie end to end. */
export function pieceAt(pieces: readonly Piece[], place: number): number {
  let [low, high] = [0, pieces.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((pieces[middle]?.start ?? Infinity) <= place) low = middle
    else high = middle - 1
  }
  return low
}
