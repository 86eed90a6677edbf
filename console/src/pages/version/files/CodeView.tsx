import { ChevronDown, ChevronUp } from 'lucide-react'
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { countOf } from '../../../lib/format.ts'
import { CopyButton } from '../../../ui/CopyButton.tsx'
import { IconButton } from '../../../ui/IconButton.tsx'
import { SearchField } from '../../../ui/SearchField.tsx'
import type { Language } from './highlight.ts'
import { matchesIn, useMatchHighlights } from './use-match-highlights.ts'
import './code.css'

/** A file with syntax highlighting, search and a copy button. The colours appear when their code has loaded, and do not shift the text. */
export function CodeView({ name, code, language }: { name: string; code: string; language: Language }) {
  const [search, setSearch] = useState('')
  const [current, setCurrent] = useState(0)
  const codeElement = useRef<HTMLElement>(null)
  const html = useHighlightedHtml(code, language)
  const deferred = useDeferredValue(search)
  const count = useMemo(() => matchesIn(code, deferred).length, [code, deferred])
  const currentMatch = count === 0 ? 0 : current % count
  useMatchHighlights(codeElement, html ?? code, deferred, currentMatch)
  const step = (by: number) => count > 0 && setCurrent((currentMatch + by + count) % count)
  const lines = code.split('\n').length
  return (
    <section aria-label={name} className="overflow-hidden rounded-lg border border-line">
      <header className="flex items-center gap-2 border-b border-line px-2 py-1.5">
        {/* oxlint-disable-next-line jsx-a11y/no-static-element-interactions */}
        <div
          className="flex min-w-0 flex-1 items-center gap-1"
          onKeyDown={(event) => event.key === 'Enter' && step(event.shiftKey ? -1 : 1)}
        >
          <SearchField
            label={`Search ${name}`}
            value={search}
            onChange={(text) => {
              setSearch(text)
              setCurrent(0)
            }}
            className="max-w-60 min-w-0 flex-1"
          />
          {count > 0 && (
            <>
              <IconButton label="Previous match" size={28} icon={<ChevronUp size={14} />} onClick={() => step(-1)} />
              <IconButton label="Next match" size={28} icon={<ChevronDown size={14} />} onClick={() => step(1)} />
            </>
          )}
          <span role="status" className="tabular text-sm whitespace-nowrap text-ink-3">
            {deferred !== '' && (count === 0 ? 'No matches' : `${currentMatch + 1} of ${count}`)}
          </span>
        </div>
        <span className="tabular text-sm text-ink-3 max-xs:hidden">{countOf(lines, 'line')}</span>
        <CopyButton text={code} what={name} />
      </header>
      <pre tabIndex={0} className="flex overflow-x-auto bg-subtle py-2.5 leading-5 -outline-offset-2">
        <span aria-hidden className="tabular shrink-0 px-3.5 text-right text-ink-3 select-none">
          {Array.from({ length: lines }, (_, index) => `${index + 1}\n`).join('')}
        </span>
        {html === null ? (
          <code key="plain" ref={codeElement} className="pr-3.5">
            {code}
          </code>
        ) : (
          <code
            key="coloured"
            ref={codeElement}
            className="code-colours pr-3.5"
            dangerouslySetInnerHTML={{ __html: html }}
          />
        )}
      </pre>
    </section>
  )
}

/** The code as highlighted HTML; null until the highlighter has loaded. */
function useHighlightedHtml(code: string, language: Language): string | null {
  const [highlighted, setHighlighted] = useState<{ code: string; html: string } | null>(null)
  useEffect(() => {
    let isCurrent = true
    // The highlighter loads on demand, because it is larger than the tab, and the file is readable without it.
    void import('./highlight.ts')
      .then(({ highlight }) => isCurrent && setHighlighted({ code, html: highlight(code, language) }))
      .catch(() => null)
    return () => {
      isCurrent = false
    }
  }, [code, language])
  return highlighted?.code === code ? highlighted.html : null
}
