import { databaseStatus, type DatabaseStatus, type Squid } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { StatusDot } from '../../../components/StatusDot.tsx'
import { Card, KeyValue } from '../../../ui/Card.tsx'
import type { Tone } from '../../../ui/tones.ts'
import { DiskUsage } from '../DiskUsage.tsx'
import { profileLabel } from '../profile-label.ts'
import { UrlList } from './UrlList.tsx'

const statusAppearance: Record<DatabaseStatus, { label: string; tone: Tone }> = {
  PROCESSING: { label: 'Processing', tone: 'info' },
  NO_SPACE: { label: 'No space', tone: 'bad' },
  LOW_SPACE: { label: 'Low space', tone: 'warn' },
  HEALTHY: { label: 'Healthy', tone: 'good' },
}

/** Shows the status, size, version and profile of the addon `postgres`. */
export function PostgresCard({ postgres }: { postgres: NonNullable<Squid['addons']['postgres']> }) {
  const status = statusAppearance[databaseStatus({ addons: { postgres } }) ?? 'PROCESSING']
  return (
    <Card title="Postgres">
      <KeyValue
        rows={[
          {
            label: 'Status',
            value: (
              <span className="flex">
                <StatusDot tone={status.tone}>{status.label}</StatusDot>
              </span>
            ),
          },
          { label: 'Size', value: <DiskUsage disk={postgres.disk} /> },
          { label: 'Version', value: postgres.version },
          { label: 'Profile', value: profileLabel(postgres.profile) },
        ]}
      />
    </Card>
  )
}

/** Shows the status, replicas and profile of the API. */
export function ApiCard({ api }: { api: NonNullable<Squid['api']> }) {
  return (
    <Card
      title="API"
      aside={
        <span className="flex flex-wrap gap-x-4">
          <Link
            from="/squids/$squidName/$squidSlot"
            to="/squids/$squidName/$squidSlot/schema"
            className="text-accent hover:underline"
          >
            Schema and examples
          </Link>
          <Link
            from="/squids/$squidName/$squidSlot"
            to="/squids/$squidName/$squidSlot/playground"
            className="text-accent hover:underline"
          >
            GraphQL playground
          </Link>
        </span>
      }
    >
      <KeyValue
        rows={[
          {
            label: 'Status',
            value: <Availability status={api.status} reason={api.reason} />,
          },
          { label: 'Replicas', value: <span className="tabular">{api.replicas}</span> },
          { label: 'Profile', value: profileLabel(api.profile) },
        ]}
      />
    </Card>
  )
}

type Addons = Squid['addons']

/** Shows the status, URLs, replicas and profile of the addon `hasura`. */
export const HasuraCard = ({
  hasura: { status, reason, urls, replicas, profile },
}: {
  hasura: NonNullable<Addons['hasura']>
}) => (
  <Card title="Hasura">
    <KeyValue
      rows={[
        { label: 'Status', value: <Availability status={status} reason={reason} /> },
        { label: 'URLs', value: <UrlList urls={urls} /> },
        { label: 'Replicas', value: <span className="tabular">{replicas}</span> },
        { label: 'Profile', value: profileLabel(profile) },
      ]}
    />
  </Card>
)

/** Shows the hosts and databases of the addon `neon`. */
export const NeonCard = ({ neon: { connections } }: { neon: NonNullable<Addons['neon']> }) => (
  <Card title="Neon">
    <KeyValue
      rows={connections.flatMap(({ params: { host, database } }) => [
        { label: 'Host', value: <code className="wrap-anywhere">{host}</code> },
        { label: 'Database', value: <code>{database}</code> },
      ])}
    />
  </Card>
)

function Availability({ status, reason }: Pick<NonNullable<Squid['api']>, 'status' | 'reason'>) {
  const isAvailable = status === 'AVAILABLE'
  return (
    <>
      <span className="flex">
        <StatusDot tone={isAvailable ? 'good' : 'bad'}>{isAvailable ? 'Available' : 'Not available'}</StatusDot>
      </span>
      {reason && <p className="text-ink-2">{reason}</p>}
    </>
  )
}
