import type { RpcChainDetails, RpcUpstream } from '@shoal/contract'
import { Label } from '../../ui/Badge.tsx'
import type { Column } from '../../components/data-table/columns.ts'
import { numberColumn } from '../../components/data-table/named-columns.tsx'
import { DataTable } from '../../components/data-table/DataTable.tsx'
import { StatusDot } from '../../components/StatusDot.tsx'
import { formatDuration, formatInteger, emptyValue } from '../../lib/format.ts'
import { Alert } from '../../ui/Alert.tsx'

const formatOrEmpty = (value: number | null, format: (value: number) => string) =>
  value === null ? emptyValue : format(value)

const columns: Column<RpcUpstream>[] = [
  {
    id: 'name',
    header: 'Upstream',
    cell: ({ name, isArchive }) => (
      <span className="flex items-center gap-2">
        <span className="truncate font-medium" title={name}>
          {name}
        </span>
        {isArchive && (
          <span className="max-xs:hidden">
            <Label>ARCHIVE</Label>
          </span>
        )}
      </span>
    ),
  },
  {
    id: 'status',
    header: 'Status',
    width: '110px',
    cell: ({ isHealthy, reason }) => (
      <StatusDot tone={isHealthy ? 'good' : 'bad'} {...(reason !== null && { reason })}>
        {isHealthy ? 'Healthy' : 'Not used'}
      </StatusDot>
    ),
  },
  numberColumn('Head', ({ headBlock }) => formatOrEmpty(headBlock, formatInteger), {
    headerTip: 'The highest block it has reported',
    width: '130px',
    hideBelow: 'xs',
  }),
  numberColumn('P50', ({ latencyP50Ms }) => formatOrEmpty(latencyP50Ms, formatDuration), {
    headerTip: 'Half of its responses are faster',
    width: '90px',
    hideBelow: 'sm',
  }),
  numberColumn('P95', ({ latencyP95Ms }) => formatOrEmpty(latencyP95Ms, formatDuration), {
    headerTip: '95% of its responses are faster',
    width: '90px',
  }),
]

/** The list of the nodes of a chain, with their health, head and latency as a gateway measured them. */
export function Upstreams({ chain }: { chain: RpcChainDetails }) {
  if (!chain.isConfigured)
    return (
      <Alert tone="warn" title="This chain has no upstream yet">
        The operator of this installation must add a node for it.
      </Alert>
    )
  return (
    <section aria-label="Upstreams">
      <h2 className="mb-2.5 text-md font-semibold">Upstreams</h2>
      <DataTable
        label="Upstreams"
        columns={columns}
        rows={chain.upstreams.length === 0 ? undefined : chain.upstreams}
        idOf={({ name }) => name}
        loadingRows={2}
        empty={null}
      />
    </section>
  )
}
