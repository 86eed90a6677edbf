import type { Deployment } from '@shoal/contract'
import type { ReactNode } from 'react'
import { shortImage } from '../../../components/deployment-title.ts'
import { RelativeTime } from '../../../components/RelativeTime.tsx'
import { emptyValue } from '../../../lib/format.ts'
import { Tag } from '../../../ui/Badge.tsx'
import { Card } from '../../../ui/Card.tsx'
import { CopyButton } from '../../../ui/CopyButton.tsx'

/** Details of a deployment: its start, user, options and image. */
export function DeploymentFacts({ deployment }: { deployment: Deployment }) {
  const { user, createdAt, options, image } = deployment
  return (
    <Card title="Deployment">
      <Facts
        facts={[
          ['Started', <RelativeTime key="at" at={createdAt} />],
          ['By', user ? <span title={user.email}>{user.fullName ?? user.email}</span> : 'Shoal'],
          ['Tag', options.tag === null ? emptyValue : <Tag key="tag">{options.tag}</Tag>],
          ['Hard reset', options.hardReset ? 'Yes, data was erased' : 'No'],
          [
            'Image',
            image === null ? (
              emptyValue
            ) : (
              <span key="image" className="inline-flex items-center">
                <code title={image}>{shortImage(image)}</code>
                <CopyButton text={image} what="image" />
              </span>
            ),
          ],
        ]}
      />
    </Card>
  )
}

/** A narrow list of labels and values. */
function Facts({ facts }: { facts: readonly [label: string, value: ReactNode][] }) {
  return (
    <dl className="px-3.5 py-2">
      {facts.map(([label, value]) => (
        <div key={label} className="flex min-h-7.5 items-center gap-3">
          <dt className="shrink-0 text-ink-2">{label}</dt>
          <dd className="min-w-0 flex-1 truncate text-right">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
