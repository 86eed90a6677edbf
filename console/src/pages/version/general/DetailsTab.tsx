import { Card, KeyValue } from '../../../ui/Card.tsx'
import { ProcessorsTable } from '../ProcessorsTable.tsx'
import { useVersion } from '../use-version.ts'
import { ApiCard, HasuraCard, NeonCard, PostgresCard } from './DetailCards.tsx'

/** Shows the API, addons, processors and scale of the version (spec 2.9). */
export default function DetailsTab() {
  const squid = useVersion()
  const { api, scale, processors = [] } = squid
  const { postgres, neon, hasura } = squid.addons
  return (
    <div className="flex flex-col gap-4.5">
      <div className="grid gap-4.5 lg:grid-cols-2">
        {api && <ApiCard api={api} />}
        {postgres && <PostgresCard postgres={postgres} />}
        {neon && <NeonCard neon={neon} />}
        {hasura && <HasuraCard hasura={hasura} />}
      </div>
      <section aria-label="Processors">
        <h2 className="mb-2.5 text-md font-semibold">Processors</h2>
        <ProcessorsTable squid={squid} />
      </section>
      <Card title="Scale">
        <KeyValue
          rows={[
            {
              label: 'Hosting',
              value: scale.isDedicated ? 'Dedicated resources' : 'Collocated: shares CPU and memory with other squids',
            },
            {
              label: 'Processors',
              value: scale.isDedicated ? `${processors.length}, profile ${scale.processorProfile}` : processors.length,
            },
          ]}
        />
      </Card>
    </div>
  )
}
