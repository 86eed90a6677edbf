import { useEffect, type RefObject } from 'react'
import { matchesIn, pieceAt } from './matches.ts'

const names = { all: 'code-match', current: 'code-match-now' }

/**
 * Marks what was searched for in the text of an element, without touching its nodes (CSS custom highlights), and brings the
 * current one into sight.
 */
export function useMarks(box: RefObject<HTMLElement | null>, html: string, search: string, current: number): void {
  useEffect(() => {
    const at = box.current
    if (!at || typeof Highlight === 'undefined') return undefined
    const ranges = rangesOf(at, search)
    const now = ranges[current]
    CSS.highlights.set(names.all, new Highlight(...ranges))
    if (now) {
      CSS.highlights.set(names.current, new Highlight(now))
      now.startContainer.parentElement?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
    }
    return () => {
      CSS.highlights.delete(names.all)
      CSS.highlights.delete(names.current)
    }
  }, [box, html, search, current])
}

/** Ranges of all matches; one may begin in one text node and end in another. */
function rangesOf(box: HTMLElement, search: string): Range[] {
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT)
  const pieces: { node: Node; start: number; length: number }[] = []
  let text = ''
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const own = node.textContent ?? ''
    pieces.push({ node, start: text.length, length: own.length })
    text += own
  }
  return matchesIn(text, search).flatMap((place) => {
    const first = pieces[pieceAt(pieces, place)]
    const last = pieces[pieceAt(pieces, place + search.length - 1)]
    if (!first || !last) return []
    const range = document.createRange()
    range.setStart(first.node, place - first.start)
    range.setEnd(last.node, place + search.length - last.start)
    return [range]
  })
}
