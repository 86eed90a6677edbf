import type { ReactNode } from 'react'
import { cx } from './classes.ts'
import { CopyButton } from './CopyButton.tsx'

type Props = {
  /** The text to copy. */
  code: string
  /** Names the text in the label of the copy button: `command`. */
  what: string
  /** The displayed code, if it differs. */
  children?: ReactNode
  /** Wrap long lines instead of scrolling. */
  isWrapped?: boolean
  className?: string
}

/** Code or a command with a copy button. */
export function CodeBlock({ code, what, children, isWrapped = false, className }: Props) {
  return (
    <div className={cx('flex items-start rounded-md border border-line bg-subtle', className)}>
      <pre
        tabIndex={0}
        className={cx('min-w-0 flex-1 overflow-x-auto px-3.5 py-2', isWrapped && 'break-words whitespace-pre-wrap')}
      >
        <code>{children ?? code}</code>
      </pre>
      <div className="shrink-0 p-1">
        <CopyButton text={code} what={what} />
      </div>
    </div>
  )
}
