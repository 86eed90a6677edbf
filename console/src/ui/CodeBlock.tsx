import type { ReactNode } from 'react'
import { cx } from './classes.ts'
import { CopyButton } from './CopyButton.tsx'

type Props = {
  /** What is copied. */
  code: string
  what: string
  /** The code as it is shown, when it is coloured. */
  children?: ReactNode
  /** Long lines break instead of scrolling. */
  isWrapped?: boolean
  className?: string
}

/** Code or a command to copy. Scrolls or wraps, never cuts. */
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
