import type { Session } from '@shoal/contract'
import { Pause, RotateCw, Trash2 } from 'lucide-react'
import { useMemo, useState } from 'react'
import { DataTable } from '../src/components/data-table/DataTable.tsx'
import type { Column, Sort } from '../src/components/data-table/columns.ts'
import { EmptyState } from '../src/components/EmptyState.tsx'
import { MiniBars } from '../src/components/MiniBars.tsx'
import { sessionColumns } from '../src/components/session-columns.tsx'
import { StatusDot } from '../src/components/StatusDot.tsx'
import { formatCount, formatPercent } from '../src/lib/format.ts'
import { Tag } from '../src/ui/Badge.tsx'
import { Button } from '../src/ui/Button.tsx'
import { ProgressBar } from '../src/ui/ProgressBar.tsx'
import { Line, Section } from './Section.tsx'

type Version = { squid: string; slot: string; tags: string[]; isSynced: boolean; ratio: number; days: number[] }

const makeVersions = (count: number): Version[] =>
  Array.from({ length: count }, (_, index) => ({
    squid: ['erc20-transfers', 'lending-markets', 'nft-floor'][Math.floor(index / 3) % 3] ?? 'squid',
    slot: (index * 7919 + 46_656).toString(36),
    tags: index % 3 === 0 ? ['production', 'v2'] : index % 3 === 1 ? ['staging'] : [],
    isSynced: index % 3 !== 1,
    ratio: index % 3 === 1 ? 0.682 : 1,
    days: Array.from({ length: 7 }, (_, day) => ((index + 3) * (day + 5) * 37) % 1000),
  }))

const sum = (days: number[]) => days.reduce((a, b) => a + b, 0)

const columns: Column<Version>[] = [
  {
    id: 'name',
    header: 'Name',
    width: '34%',
    sortBy: ({ slot }) => slot,
    cell: ({ slot, tags }) => (
      <span className="flex items-center gap-1.5">
        <a href={`#${slot}`} className="font-mono text-code hover:underline">
          @{slot}
        </a>
        {tags.map((tag) => (
          <Tag key={tag} isMain={tag === 'production'}>
            {tag}
          </Tag>
        ))}
      </span>
    ),
  },
  {
    id: 'status',
    header: 'Status',
    cell: ({ isSynced }) => (
      <StatusDot tone={isSynced ? 'good' : 'info'} isPulsing={!isSynced}>
        {isSynced ? 'Healthy' : 'Processing'}
      </StatusDot>
    ),
  },
  {
    id: 'sync',
    header: 'Sync',
    hideBelow: 'md',
    cell: ({ isSynced, ratio }) =>
      isSynced ? (
        <span className="text-ink-3">at head</span>
      ) : (
        <span className="tabular">
          <ProgressBar label="Sync" ratio={ratio} className="mr-2" />
          {formatPercent(ratio)}
        </span>
      ),
  },
  {
    id: 'days',
    header: 'Last 7d Req.',
    headerTip: 'Total number of queries made to the squid version in the last 7 days',
    hideBelow: 'sm',
    width: '110px',
    cell: ({ days }) => <MiniBars label="Requests of 7 days" values={days} tip={days.map(formatCount).join('\n')} />,
  },
  {
    id: 'requests',
    header: 'Requests',
    isNumber: true,
    hideBelow: 'sm',
    width: '90px',
    sortBy: ({ days }) => sum(days),
    cell: ({ days }) => formatCount(sum(days)),
  },
]

const userAgents = [
  'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Mobile/15E148 Safari/604.1',
  null,
]

const sessions: Session[] = userAgents.map((userAgent, index) => ({
  id: String(index),
  userAgent,
  ip: `192.0.2.${index + 1}`,
  createdAt: `2026-08-${10 + index}T08:00:00Z`,
  lastSeenAt: `2026-09-02T0${9 - index}:55:00Z`,
  isCurrent: index === 0,
}))

/** A table with groups, of a selectable number of rows, one that loads, and one of sessions. */
export function Tables() {
  const [count, setCount] = useState(7)
  const [sort, setSort] = useState<Sort>({ column: 'name', order: 'asc' })
  const rows = useMemo(() => makeVersions(count), [count])
  return (
    <Section title="Table">
      <Line>
        {[0, 7, 200, 5000].map((size) => (
          <Button key={size} size={28} onClick={() => setCount(size)}>
            {size} rows
          </Button>
        ))}
      </Line>
      <DataTable
        label="Versions"
        columns={columns}
        rows={rows}
        idOf={idOf}
        groupOf={groupOf}
        renderGroupHead={(name, members) => (
          <>
            {name} <span className="ml-1 font-normal text-ink-3">{members.length} versions</span>
          </>
        )}
        sort={sort}
        onSort={setSort}
        onOpen={() => {}}
        actions={({ isSynced }) => [
          { label: 'Restart', icon: RotateCw, run: () => {} },
          {
            label: 'Hibernate',
            icon: Pause,
            disabledReason: isSynced ? null : 'A deployment is in progress.',
            run: () => {},
          },
          { label: 'Delete', icon: Trash2, isDanger: true, run: () => {} },
        ]}
        empty={<EmptyState title="No squids found" />}
      />
      <DataTable label="Loading versions" columns={columns} rows={undefined} idOf={idOf} empty={null} loadingRows={3} />
      <DataTable label="Sessions" columns={sessionColumns} rows={sessions} idOf={({ id }) => id} empty={null} />
    </Section>
  )
}

const idOf = ({ squid, slot }: Version) => `${squid}@${slot}`
const groupOf = ({ squid }: Version) => squid
