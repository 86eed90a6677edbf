import type { Deployment } from '@shoal/contract'
import { RelativeTime } from '../../../components/RelativeTime.tsx'
import { nothing } from '../../../lib/format.ts'
import { Tag } from '../../../ui/Badge.tsx'
import { Card } from '../../../ui/Card.tsx'
import { CopyButton } from '../../../ui/CopyButton.tsx'
import { Facts } from './Facts.tsx'
import { shortImage } from './deployment-words.ts'

/** Who asked for it, when, and with what options. */
export function DeploymentFacts({ deployment }: { deployment: Deployment }) {
  const { user, createdAt, options, image } = deployment
  return (
    <Card title="Deployment">
      <Facts
        facts={[
          ['Started', <RelativeTime key="at" at={createdAt} />],
          ['By', user ? <span title={user.email}>{user.fullName ?? user.email}</span> : 'Shoal'],
          ['Tag', options.tag === null ? nothing : <Tag key="tag">{options.tag}</Tag>],
          ['Hard reset', options.hardReset ? 'Yes, data was erased' : 'No'],
          [
            'Image',
            image === null ? (
              nothing
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
