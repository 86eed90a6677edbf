import { useEffect, type RefObject } from 'react'

const highlightNames = { all: 'code-match', current: 'code-match-now' }

/**
 * Highlights the matches of a search without changing the DOM (CSS custom highlights), and scrolls to the current
 * one.
 */
export function useMatchHighlights(
  box: RefObject<HTMLElement | null>,
  html: string,
  search: string,
  current: number,
): void {
  useEffect(() => {
    const at = box.current
    if (!at || typeof Highlight === 'undefined') return undefined
    const ranges = rangesOf(at, search)
    const now = ranges[current]
    CSS.highlights.set(highlightNames.all, new Highlight(...ranges))
    if (now) {
      CSS.highlights.set(highlightNames.current, new Highlight(now))
      now.startContainer.parentElement?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
    }
    return () => {
      CSS.highlights.delete(highlightNames.all)
      CSS.highlights.delete(highlightNames.current)
    }
  }, [box, html, search, current])
}

/** Ranges of all matches; a match may span several text nodes. */
function rangesOf(box: HTMLElement, search: string): Range[] {
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT)
  const pieces: { node: Node; start: number; length: number }[] = []
  let text = ''
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const own = node.textContent ?? ''
    pieces.push({ node, start: text.length, length: own.length })
    text += own
  }
  return matchesIn(text, search).flatMap((offset) => {
    const first = pieces[pieceAt(pieces, offset)]
    const last = pieces[pieceAt(pieces, offset + search.length - 1)]
    if (!first || !last) return []
    const range = document.createRange()
    range.setStart(first.node, offset - first.start)
    range.setEnd(last.node, offset + search.length - last.start)
    return [range]
  })
}

/** Start indexes of `search` in `text`, ignoring case; empty for an empty search. Matches do not overlap. */
export function matchesIn(text: string, search: string): number[] {
  if (search === '') return []
  const [hay, needle] = [text.toLowerCase(), search.toLowerCase()]
  const found: number[] = []
  for (let at = hay.indexOf(needle); at >= 0; at = hay.indexOf(needle, at + needle.length)) found.push(at)
  return found
}

type Piece = { start: number; length: number }

/** The index of the piece that contains an offset. The pieces are contiguous. */
export function pieceAt(pieces: readonly Piece[], offset: number): number {
  let [low, high] = [0, pieces.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((pieces[middle]?.start ?? Infinity) <= offset) low = middle
    else high = middle - 1
  }
  return low
}
