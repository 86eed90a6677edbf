import type { LogEntry } from '@shoal/contract'
import { MarkedText } from '../../../components/MarkedText.tsx'
import { Button } from '../../../ui/Button.tsx'
import { textOf } from './line-text.ts'

type Props = {
  entry: LogEntry
  search: string
}

/** The details of an expanded line: its full text, and its fields as indented JSON. */
export function LogDetail({ entry, search }: Props) {
  const { message, fields } = textOf(entry)
  return (
    <div role="cell" className="border-y border-line bg-canvas px-3 py-2">
      <pre className="max-h-96 overflow-auto break-words whitespace-pre-wrap" tabIndex={0} aria-label="Whole line">
        <MarkedText text={message} search={search} />
        {fields && (
          <>
            {message && '\n'}
            <MarkedText text={JSON.stringify(fields, null, 2)} search={search} />
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
        <Button size={28} data-act="context">
          Show surrounding lines
        </Button>
      </div>
    </div>
  )
}
