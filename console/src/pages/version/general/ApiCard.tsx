import type { Squid } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { Card, KeyValue } from '../../../ui/Card.tsx'
import { Availability } from './Availability.tsx'

/** The GraphQL API of a version. */
export function ApiCard({ api }: { api: NonNullable<Squid['api']> }) {
  return (
    <Card
      title="API"
      aside={
        <Link
          from="/squids/$squidName/$squidSlot"
          to="/squids/$squidName/$squidSlot/playground"
          className="text-accent hover:underline"
        >
          GraphQL playground
        </Link>
      }
    >
      <KeyValue
        rows={[
          {
            label: 'Status',
            value: (
              <>
                <Availability status={api.status} />
                {api.reason && <p className="text-ink-2">{api.reason}</p>}
              </>
            ),
          },
          { label: 'Replicas', value: <span className="tabular">{api.replicas}</span> },
          { label: 'Profile', value: api.profile },
        ]}
      />
    </Card>
  )
}
