import { Eye, EyeOff } from 'lucide-react'
import { Suspense, useState } from 'react'
import { Button } from '../../../ui/Button.tsx'
import { Card, KeyValue } from '../../../ui/Card.tsx'
import { CodeBlock } from '../../../ui/CodeBlock.tsx'
import { CopyButton } from '../../../ui/CopyButton.tsx'
import { Skeleton } from '../../../ui/Skeleton.tsx'
import type { Connection } from './database-access.ts'
import { connectionKinds, connectionText, hiddenPassword } from './database-commands.ts'
import { lazyPart } from '../../../lib/lazy.tsx'

const Tabs = lazyPart(async () => ({ default: (await import('../../../ui/Tabs.tsx')).Tabs }))

type Props = { connection: Connection; isReadOnly: boolean }

/** Shows how to connect to the database. Copied text always contains the password, even while the panel hides it. */
export function ConnectionPanel({ connection, isReadOnly }: Props) {
  const [isPasswordVisible, setIsPasswordVisible] = useState(false)
  const { host, port, database, user, password } = connection.params
  const displayedPassword = isPasswordVisible ? password : hiddenPassword
  const parts = [
    ['Host', host],
    ['Port', String(port)],
    ['Database', database],
    ['User', user],
    ['Password', password],
  ] as const
  const tabs = connectionKinds.map((kind) => ({
    id: kind,
    label: kind,
    content: (
      <CodeBlock code={connectionText(kind, connection, password)} what={kind} isWrapped>
        {connectionText(kind, connection, displayedPassword)}
      </CodeBlock>
    ),
  }))
  return (
    <Card
      title="Connection"
      aside={
        <Button
          size={28}
          variant="ghost"
          aria-pressed={isPasswordVisible}
          icon={isPasswordVisible ? <EyeOff size={14} aria-hidden /> : <Eye size={14} aria-hidden />}
          onClick={() => setIsPasswordVisible(!isPasswordVisible)}
        >
          {isPasswordVisible ? 'Hide password' : 'Show password'}
        </Button>
      }
    >
      <div className="px-3.5 pt-1.5 pb-3.5">
        <Suspense fallback={<Skeleton className="h-27.5 w-full" />}>
          <Tabs label="Ways to connect" tabs={tabs} />
        </Suspense>
        {isReadOnly && <p className="mt-2 text-sm text-ink-3">This user has read-only access.</p>}
      </div>
      <div className="border-t border-line">
        <KeyValue
          rows={parts.map(([label, value]) => ({
            label,
            value: (
              <span className="-my-1 flex min-w-0 items-center gap-1">
                <code className="truncate">{label === 'Password' ? displayedPassword : value}</code>
                <CopyButton text={value} what={label.toLowerCase()} />
              </span>
            ),
          }))}
        />
      </div>
    </Card>
  )
}
