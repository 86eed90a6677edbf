import { Check, Copy } from 'lucide-react'
import { useEffect, useState, type ReactNode } from 'react'
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

type CopyFieldProps = {
  text: string
  what: string
  /** Shown instead of the text that is copied, such as a URL whose token is hidden. */
  shownText?: string
  /** Shows a long text on several lines. Otherwise it scrolls. */
  isWrapped?: boolean
  /** Further buttons, before the copy button. */
  children?: ReactNode
}

/** An identifier, URL or token with a copy button. */
export function CopyField({ text, what, shownText = text, isWrapped = false, children }: CopyFieldProps) {
  return (
    <div className="flex min-h-8 min-w-0 items-center rounded-md border border-line bg-subtle pr-0.5">
      {isWrapped ? (
        <code className="min-w-0 flex-1 px-2.5 py-1.5 wrap-anywhere">{shownText}</code>
      ) : (
        <input
          readOnly
          value={shownText}
          aria-label={what}
          // Only the copy button copies a text that is not shown.
          onFocus={(event) => shownText === text && event.target.select()}
          className="h-7.5 min-w-0 flex-1 rounded-md bg-transparent px-2.5 font-mono text-code focus-visible:-outline-offset-1"
        />
      )}
      {children}
      <CopyButton text={text} what={what} />
    </div>
  )
}
