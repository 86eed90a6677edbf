import type { OperatorOverview, Replica } from '@shoal/contract'
import { useMemo, type ReactNode } from 'react'
import type { Column } from '../../components/data-table/columns.ts'
import { DataTable } from '../../components/data-table/DataTable.tsx'
import { nameColumn, numberColumn, textColumn, timeColumn } from '../../components/data-table/named-columns.tsx'
import { RelativeTime } from '../../components/RelativeTime.tsx'
import { emptyValue, formatDuration, formatInteger } from '../../lib/format.ts'
import { Badge } from '../../ui/Badge.tsx'

type Statement = OperatorOverview['statements']['list'][number]
type Loop = Replica['loops'][number] & { replica: string }

const replicaColumns: Column<Replica>[] = [
  {
    id: 'process',
    header: 'Process',
    cell: ({ name, roles, worker, isAlive, problems }) => (
      <div className="py-2">
        <p className="truncate font-medium" title={name}>
          {name}
        </p>
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-ink-3">
          <StateBadge isAlive={isAlive} isReady={problems.length === 0} />
          {roles.map((role) => (role === 'worker' && worker ? `${role} (${worker})` : role)).join(', ')}
        </p>
      </div>
    ),
  },
  textColumn('Version', ({ version }) => version, { width: '100px', hideBelow: 'sm' }),
  timeColumn('Started', ({ startedAt }) => startedAt, { hideBelow: 'md' }),
  timeColumn('Last heartbeat', ({ seenAt }) => seenAt, { narrowWidth: '116px' }),
]

function StateBadge({ isAlive, isReady }: { isAlive: boolean; isReady: boolean }) {
  if (!isAlive) return <Badge tone="bad">No heartbeat</Badge>
  return isReady ? <Badge tone="good">Ready</Badge> : <Badge tone="bad">Not ready</Badge>
}

const loopColumns: Column<Loop>[] = [
  nameColumn('Loop', ({ name }) => name),
  textColumn('Process', ({ replica }) => replica, { hideBelow: 'md' }),
  numberColumn('Last round', ({ lastMs }) => (lastMs === null ? emptyValue : formatDuration(lastMs)), {
    width: '110px',
    narrowWidth: '92px',
  }),
  numberColumn('Interval', ({ intervalMs }) => formatDuration(intervalMs), { width: '110px', hideBelow: 'sm' }),
  timeColumn('Ended', ({ lastEndedAt }) => lastEndedAt, { hideBelow: 'sm' }),
  numberColumn('Failures', ({ failures }) => formatInteger(failures), {
    headerTip: 'Failed rounds since the last success',
    width: '92px',
    narrowWidth: '84px',
  }),
]

const processColumn = textColumn<Statement>('Process', ({ replica }) => replica, { hideBelow: 'md', width: '180px' })
const statementColumns: Column<Statement>[] = [
  {
    id: 'statement',
    header: 'Statement',
    cell: ({ text }) => (
      <code className="line-clamp-2 py-1 break-all" title={text}>
        {text}
      </code>
    ),
  },
  processColumn,
  numberColumn('Times', ({ calls }) => formatInteger(calls), { width: '84px', hideBelow: 'sm' }),
  numberColumn('Mean', ({ meanMs }) => formatDuration(meanMs), { width: '92px', narrowWidth: '84px' }),
  numberColumn('Slowest', ({ maxMs }) => formatDuration(maxMs), { width: '92px', hideBelow: 'sm' }),
]

const postgresColumns = statementColumns.filter((column) => column !== processColumn)

const emptyText = (text: ReactNode) => <p className="text-ink-2">{text}</p>

/** The processes of the installation, with their last heartbeats. */
export function ReplicasTable({ replicas }: { replicas: Replica[] }) {
  return (
    <DataTable
      label="Processes"
      columns={replicaColumns}
      rows={replicas}
      idOf={({ id }) => id}
      empty={emptyText('No process has sent a heartbeat within the last hour.')}
    />
  )
}

/** The loops of the running processes, from their last heartbeats. */
export function LoopsTable({ replicas }: { replicas: Replica[] }) {
  const rows = useMemo(
    () =>
      replicas.flatMap(({ name: replica, isAlive, loops }) => (isAlive ? loops.map((l) => ({ ...l, replica })) : [])),
    [replicas],
  )
  return (
    <DataTable
      label="Loops"
      columns={loopColumns}
      rows={rows}
      idOf={({ name, replica }) => `${replica} ${name}`}
      empty={emptyText('No loop has completed a round.')}
    />
  )
}

/** The slow statements on Shoal's database, and how they were measured. */
export function StatementsTable({
  statements: { source, since, list },
}: {
  statements: OperatorOverview['statements']
}) {
  return (
    <>
      <p className="mb-2.5 text-ink-2">
        {source === 'POSTGRES' ? (
          <>
            Statements on Shoal's own database of which a call took at least 250 ms, with all their calls, from the
            statistics of Postgres (pg_stat_statements) that began {since && <RelativeTime at={since} />}.
          </>
        ) : (
          <>
            Calls on Shoal's own database that took at least 250 ms, as its processes measured them since they started.
            The time includes waits for locks and for the process itself. Postgres does not have pg_stat_statements.
          </>
        )}
      </p>
      <DataTable
        label="Slow statements"
        columns={source === 'POSTGRES' ? postgresColumns : statementColumns}
        rows={list}
        idOf={({ text, replica }) => `${replica ?? ''} ${text}`}
        empty={emptyText('None so far.')}
      />
    </>
  )
}
