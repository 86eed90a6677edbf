import type { Deployment } from '@shoal/contract'
import { shortImage } from '../../../components/deployment-title.ts'
import { RelativeTime } from '../../../components/RelativeTime.tsx'
import { emptyValue } from '../../../lib/format.ts'
import { Tag } from '../../../ui/Badge.tsx'
import { Card, KeyValue } from '../../../ui/Card.tsx'
import { CopyButton } from '../../../ui/CopyButton.tsx'

/** The details of a deployment: its start, user, options and image. */
export function DeploymentFacts({ deployment }: { deployment: Deployment }) {
  const { user, createdAt, options, image } = deployment
  return (
    <Card title="Deployment">
      <KeyValue
        isNarrow
        rows={[
          { label: 'Started', value: <RelativeTime at={createdAt} /> },
          { label: 'By', value: user ? <span title={user.email}>{user.fullName ?? user.email}</span> : 'Shoal' },
          { label: 'Tag', value: options.tag === null ? emptyValue : <Tag>{options.tag}</Tag> },
          { label: 'Hard reset', value: options.hardReset ? 'Yes, data was erased' : 'No' },
          {
            label: 'Image',
            value:
              image === null ? (
                emptyValue
              ) : (
                <span className="-my-1 inline-flex items-center">
                  <code title={image}>{shortImage(image)}</code>
                  <CopyButton text={image} what="image" />
                </span>
              ),
          },
        ]}
      />
    </Card>
  )
}
