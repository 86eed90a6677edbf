import { Suspense } from 'react'
import { Card } from '../ui/Card.tsx'
import { CodeBlock } from '../ui/CodeBlock.tsx'
import { Skeleton } from '../ui/Skeleton.tsx'
import { lazyPart } from '../lib/lazy.tsx'

const Tabs = lazyPart(async () => ({ default: (await import('../ui/Tabs.tsx')).Tabs }))

/** Instructions for one way to use a URL. */
export type Recipe = {
  id: string
  label: string
  text: string
  /** The displayed code. */
  code: string
  /** The code to copy, if it differs: it may include a secret. */
  textToCopy?: string
}

/** Shows how to use a URL, one recipe per tab. */
export function SetupGuide({ recipes }: { recipes: readonly Recipe[] }) {
  const tabs = recipes.map(({ id, label, text, code, textToCopy = code }) => ({
    id,
    label,
    content: (
      <>
        <p className="mb-2.5 text-ink-2">{text}</p>
        <CodeBlock code={textToCopy} what={label} isWrapped={!code.includes('\n')}>
          {code}
        </CodeBlock>
      </>
    ),
  }))
  return (
    <Card title="Setup guidance">
      <div className="px-3.5 pt-1.5 pb-3.5">
        <Suspense fallback={<Skeleton className="h-42 w-full" />}>
          <Tabs label="Ways to use the URL" tabs={tabs} />
        </Suspense>
      </div>
    </Card>
  )
}
