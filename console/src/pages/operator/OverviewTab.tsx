import type { OperatorOverview } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Prefetch } from '../../api/prefetch.ts'
import { QueryView } from '../../components/QueryView.tsx'
import { RelativeTime } from '../../components/RelativeTime.tsx'
import { emptyValue, formatBytes, formatInteger } from '../../lib/format.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Card, KeyValue } from '../../ui/Card.tsx'
import { MaintenanceCard } from './MaintenanceCard.tsx'
import { overviewQuery } from './overview-queries.ts'
import { LoopsTable, ReplicasTable, StatementsTable } from './overview-tables.tsx'

export const prefetch: Prefetch = ({ client }) => void client.prefetchQuery(overviewQuery)

/** Shows the problems of the installation, then its state. */
export default function OverviewTab() {
  return (
    <QueryView query={useQuery(overviewQuery)} what="The overview">
      {(overview) => (
        <div className="grid grid-cols-1 gap-4.5">
          <Findings findings={overview.findings} />
          <Numbers {...overview} />
          <MaintenanceCard />
          <Section title="Processes">
            <ReplicasTable replicas={overview.replicas} />
          </Section>
          <Section title="Loops">
            <LoopsTable replicas={overview.replicas} />
          </Section>
          <Section title="Slow statements">
            <StatementsTable statements={overview.statements} />
          </Section>
        </div>
      )}
    </QueryView>
  )
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="min-w-0">
      <h2 className="mb-2.5 text-md font-semibold">{title}</h2>
      {children}
    </section>
  )
}

function Findings({ findings }: Pick<OperatorOverview, 'findings'>) {
  if (findings.length === 0) return <Alert tone="good" title="Everything works" />
  return (
    <div className="grid gap-2">
      {findings.map(({ severity, subject, text, since, remedy }) => (
        <Alert key={`${subject} ${text}`} tone={severity} title={subject.charAt(0).toUpperCase() + subject.slice(1)}>
          <p className="break-words">
            {text}
            {since !== null && (
              <>
                {' '}
                (since <RelativeTime at={since} />)
              </>
            )}
            . {remedy}
          </p>
        </Alert>
      ))}
    </div>
  )
}

function Numbers({ deployments, postgres, backup, certificates, replicas }: OperatorOverview) {
  const { running, queued, oldestAt } = deployments
  return (
    <Card title="Installation">
      <KeyValue
        rows={[
          {
            label: 'Deployments',
            value: (
              <>
                <Link to="/admin/deployments" className="text-accent underline underline-offset-3">
                  {formatInteger(running)} running, {formatInteger(queued)} waiting
                </Link>
                {oldestAt !== null && (
                  <>
                    , the oldest <RelativeTime at={oldestAt} />
                  </>
                )}
              </>
            ),
          },
          { label: 'Busiest squids', value: <BusiestSquids /> },
          ...postgres.map(({ name, connections }) => ({
            label: name,
            value: connections
              ? `${formatInteger(connections.open)} of ${formatInteger(connections.max)} connections`
              : 'does not respond',
          })),
          ...replicas.flatMap(({ id, name, disk }) =>
            disk
              ? [
                  {
                    label: replicas.length === 1 ? 'Disk' : `Disk of ${name}`,
                    value: `${formatBytes(disk.free)} of ${formatBytes(disk.size)} free; deployments are refused below ${formatBytes(disk.reserve)}`,
                    id,
                  },
                ]
              : [],
          ),
          { label: 'Last backup', value: <BackupAge {...backup} /> },
          ...certificates.map(({ name, validUntil, error }) => ({
            label: name,
            value: (
              <>
                Certificate {validUntil === null ? 'not issued yet' : 'valid until '}
                {validUntil !== null && <RelativeTime at={validUntil} />}
                {error !== null && <p className="break-words text-bad">{error}</p>}
              </>
            ),
          })),
        ]}
      />
    </Card>
  )
}

/** What a squid uses, and the order of the list of squids in which those that use the most of it are first. */
const usages = [
  ['cpu', 'CPU'],
  ['memory', 'Memory'],
  ['disk', 'Disk'],
  ['logs', 'Log lines'],
  ['rpc', 'RPC'],
] as const

/** Links to the list of squids, one for each kind of usage. */
const BusiestSquids = () => (
  <ul aria-label="Busiest squids" className="flex flex-wrap gap-x-3">
    {usages.map(([sort, label]) => (
      <li key={sort}>
        <Link to="/admin/squids" search={{ sort, order: 'desc' }} className="text-accent underline underline-offset-3">
          {label}
        </Link>
      </li>
    ))}
  </ul>
)

function BackupAge({ at, isExternal }: OperatorOverview['backup']) {
  if (at !== null) return <RelativeTime at={at} />
  return isExternal ? 'Postgres is external: its own tools back it up' : emptyValue
}
