import type { LogEntry } from '@shoal/contract'
import { useEffectEvent, useLayoutEffect, useRef } from 'react'
import { Button } from '../../../ui/Button.tsx'
import { textOf } from './line-text.ts'
import { Highlighted } from './LogRow.tsx'

type Props = { entry: LogEntry; search: string; onResize: (px: number) => void }

/** An expanded line: the full text, and its fields one per line. */
export function LogDetail({ entry, search, onResize }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const { message, fields } = textOf(entry)
  const measured = useEffectEvent(() => onResize(box.current?.offsetHeight ?? 0))
  useLayoutEffect(() => {
    if (!box.current) return undefined
    measured()
    const observer = new ResizeObserver(() => measured())
    observer.observe(box.current)
    return () => observer.disconnect()
  }, [])
  return (
    <div ref={box} role="cell" className="border-y border-line bg-canvas px-3 py-2">
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
