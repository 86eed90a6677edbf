import type { ReactNode } from 'react'
import { CodeBlock } from '../ui/CodeBlock.tsx'

type Props = {
  title: string
  /** One sentence about the purpose of the page. */
  text?: ReactNode
  /** The action that adds the first item. */
  action?: ReactNode
  /** The command-line equivalent of the action. */
  command?: string
}

/** Shown instead of an empty list. */
export function EmptyState({ title, text, action, command }: Props) {
  return (
    <div className="flex flex-col items-center rounded-lg border border-dashed border-edge px-6 py-12 text-center">
      <h2 className="text-md font-semibold">{title}</h2>
      {text && <p className="mt-1 max-w-110 text-balance text-ink-2">{text}</p>}
      {action && <div className="mt-4">{action}</div>}
      {command && <CodeBlock code={command} what="command" isWrapped className="mt-4 max-w-full text-left" />}
    </div>
  )
}
