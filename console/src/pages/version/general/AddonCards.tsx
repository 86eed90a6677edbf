import type { Squid } from '@shoal/contract'
import { Card, KeyValue } from '../../../ui/Card.tsx'
import { Availability } from './Availability.tsx'
import { UrlList } from './UrlList.tsx'

type Addons = Squid['addons']

/** The Hasura addon of a version. */
export const HasuraCard = ({
  hasura: { status, urls, replicas, profile },
}: {
  hasura: NonNullable<Addons['hasura']>
}) => (
  <Card title="Hasura">
    <KeyValue
      rows={[
        { label: 'Status', value: <Availability status={status} /> },
        { label: 'URLs', value: <UrlList urls={urls} /> },
        { label: 'Replicas', value: <span className="tabular">{replicas}</span> },
        { label: 'Profile', value: profile },
      ]}
    />
  </Card>
)

/** The Neon addon of a version. */
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
