import type { LogEntry } from '@shoal/contract'
import { useEffectEvent, useLayoutEffect, useRef } from 'react'
import { Button } from '../../../ui/Button.tsx'
import { textOf } from './line-text.ts'
import { Highlighted } from './LogRow.tsx'

type Props = { entry: LogEntry; search: string; onResize: (px: number) => void }

/** The details of an expanded line: its full text, and its fields as indented JSON. */
export function LogDetail({ entry, search, onResize }: Props) {
  const container = useRef<HTMLDivElement>(null)
  const { message, fields } = textOf(entry)
  const reportHeight = useEffectEvent(() => onResize(container.current?.offsetHeight ?? 0))
  useLayoutEffect(() => {
    if (!container.current) return undefined
    reportHeight()
    const observer = new ResizeObserver(() => reportHeight())
    observer.observe(container.current)
    return () => observer.disconnect()
  }, [])
  return (
    <div ref={container} role="cell" className="border-y border-line bg-canvas px-3 py-2">
      <pre className="max-h-96 overflow-auto break-words whitespace-pre-wrap" tabIndex={0} aria-label="Whole line">
        <Highlighted text={message} search={search} />
        {fields && (
          <>
            {message && '\n'}
            <Highlighted text={JSON.stringify(fields, null, 2)} search={search} />
          </>
        )}
      </pre>
      <div className="mt-2 flex flex-wrap gap-2 font-sans">
        <Button size={28} data-act="copy">
          Copy line
        </Button>
        <Button size={28} data-act="link">
          Copy link to line
        </Button>
      </div>
    </div>
  )
}
