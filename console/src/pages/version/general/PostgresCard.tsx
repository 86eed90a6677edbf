import { databaseStatus, type DatabaseStatus, type Squid } from '@shoal/contract'
import { StatusDot } from '../../../components/StatusDot.tsx'
import type { Tone } from '../../../ui/tones.ts'
import { Card, KeyValue } from '../../../ui/Card.tsx'
import { DiskUse } from '../DiskUse.tsx'

const looks: Record<DatabaseStatus, { label: string; tone: Tone }> = {
  PROCESSING: { label: 'Processing', tone: 'info' },
  NO_SPACE: { label: 'No space', tone: 'bad' },
  LOW_SPACE: { label: 'Low space', tone: 'warn' },
  HEALTHY: { label: 'Healthy', tone: 'good' },
}

/** The Postgres addon of a version. */
export function PostgresCard({ postgres }: { postgres: NonNullable<Squid['addons']['postgres']> }) {
  const look = looks[databaseStatus({ addons: { postgres } }) ?? 'PROCESSING']
  return (
    <Card title="Postgres">
      <KeyValue
        rows={[
          {
            label: 'Status',
            value: (
              <span className="flex">
                <StatusDot tone={look.tone}>{look.label}</StatusDot>
              </span>
            ),
          },
          { label: 'Size', value: <DiskUse disk={postgres.disk} /> },
          { label: 'Version', value: postgres.version },
          { label: 'Profile', value: postgres.profile },
        ]}
      />
    </Card>
  )
}
