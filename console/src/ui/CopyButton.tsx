import { Check, Copy } from 'lucide-react'
import { useEffect, useState } from 'react'
import { copyText } from './copy-text.ts'
import { IconButton } from './IconButton.tsx'

const confirmationMs = 1500

/** A button that copies `text` and briefly confirms it. `what` names the text in the label: `Copy endpoint`. */
export function CopyButton({ text, what, size = 28 }: { text: string; what: string; size?: 28 | 32 }) {
  const { isCopied, copy } = useCopy(text)
  return (
    <>
      <IconButton
        label={isCopied ? 'Copied' : `Copy ${what}`}
        size={size}
        icon={isCopied ? <Check size={14} aria-hidden className="text-good" /> : <Copy size={14} aria-hidden />}
        onClick={copy}
      />
      <span role="status" className="sr-only">
        {isCopied ? `Copied ${what}` : ''}
      </span>
    </>
  )
}

/** The state of a copy button with another appearance, and its click handler. */
export function useCopy(text: string): { isCopied: boolean; copy: () => void } {
  const [copiedAt, setCopiedAt] = useState(0)
  useEffect(() => {
    if (copiedAt === 0) return undefined
    const timer = setTimeout(setCopiedAt, confirmationMs, 0)
    return () => clearTimeout(timer)
  }, [copiedAt])
  return {
    isCopied: copiedAt > 0,
    copy: () => void copyText(text).then((done) => done && setCopiedAt(Date.now())),
  }
}

/** An identifier, URL or token with a copy button. A long text scrolls. */
export function CopyField({ text, what }: { text: string; what: string }) {
  return (
    <div className="flex h-8 min-w-0 items-center rounded-md border border-line bg-subtle pr-0.5">
      <input
        readOnly
        value={text}
        aria-label={what}
        onFocus={(event) => event.target.select()}
        className="h-full min-w-0 flex-1 rounded-md bg-transparent px-2.5 font-mono text-code focus-visible:-outline-offset-1"
      />
      <CopyButton text={text} what={what} />
    </div>
  )
}
