import { useEffect, type RefObject } from 'react'

const highlightNames = { all: 'code-match', current: 'code-match-current' }

/**
 * Highlights the matches of a search with CSS custom highlights, which do not change the DOM, and scrolls to the
 * match with the index `current`. `html` is the content of the element: when it changes, the matches are found again.
 */
export function useMatchHighlights(
  elementRef: RefObject<HTMLElement | null>,
  html: string,
  search: string,
  current: number,
): void {
  useEffect(() => {
    const element = elementRef.current
    if (!element || typeof Highlight === 'undefined') return undefined
    const ranges = rangesOf(element, search)
    const currentRange = ranges[current]
    CSS.highlights.set(highlightNames.all, new Highlight(...ranges))
    if (currentRange) {
      CSS.highlights.set(highlightNames.current, new Highlight(currentRange))
      currentRange.startContainer.parentElement?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
    }
    return () => {
      CSS.highlights.delete(highlightNames.all)
      CSS.highlights.delete(highlightNames.current)
    }
  }, [elementRef, html, search, current])
}

/** The DOM ranges of all matches. A match may span several text nodes. */
function rangesOf(element: HTMLElement, search: string): Range[] {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  const textNodes: { node: Node; start: number; length: number }[] = []
  let text = ''
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const nodeText = node.textContent ?? ''
    textNodes.push({ node, start: text.length, length: nodeText.length })
    text += nodeText
  }
  return matchesIn(text, search).flatMap((offset) => {
    const first = textNodes[nodeIndexAt(textNodes, offset)]
    const last = textNodes[nodeIndexAt(textNodes, offset + search.length - 1)]
    if (!first || !last) return []
    const range = document.createRange()
    range.setStart(first.node, offset - first.start)
    range.setEnd(last.node, offset + search.length - last.start)
    return [range]
  })
}

/** The start indexes of all matches of `search` in `text`, ignoring case. Matches do not overlap; an empty search has none. */
export function matchesIn(text: string, search: string): number[] {
  if (search === '') return []
  const [lowerText, lowerSearch] = [toLowerCaseOfSameLength(text), toLowerCaseOfSameLength(search)]
  const offsets: number[] = []
  for (
    let offset = lowerText.indexOf(lowerSearch);
    offset >= 0;
    offset = lowerText.indexOf(lowerSearch, offset + lowerSearch.length)
  )
    offsets.push(offset)
  return offsets
}

/** Letters that are longer in lower case, such as İ, stay, so that indexes in the result are indexes in the text. */
function toLowerCaseOfSameLength(text: string): string {
  const lowerText = text.toLowerCase()
  if (lowerText.length === text.length) return lowerText
  const letters = Array.from(text, (letter) => {
    const lower = letter.toLowerCase()
    return lower.length === letter.length ? lower : letter
  })
  return letters.join('')
}

type TextNodeRange = { start: number; length: number }

/** The index of the text node that contains an offset. The nodes are contiguous. */
export function nodeIndexAt(textNodes: readonly TextNodeRange[], offset: number): number {
  let [low, high] = [0, textNodes.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((textNodes[middle]?.start ?? Infinity) <= offset) low = middle
    else high = middle - 1
  }
  return low
}
