import type { OperatorUsage } from '@shoal/contract'
import type { Column } from '../../components/data-table/columns.ts'
import { numberColumn } from '../../components/data-table/named-columns.tsx'
import { formatBytes, formatCount, formatDecimal } from '../../lib/format.ts'

type Used = { usage: OperatorUsage }

const greatestFirst = { isGreatestFirst: true } as const

/** The columns of use that organizations and versions share; their ids are the orders of the endpoints. */
export const usageColumns = <T extends Used>(): Column<T>[] => [
  numberColumn('CPU', ({ usage }) => formatDecimal(usage.cpuCores), {
    ...greatestFirst,
    id: 'cpu',
    headerTip: 'Cores, mean of the last five minutes',
    sortBy: ({ usage }) => usage.cpuCores,
    width: '76px',
    narrowWidth: '72px',
  }),
  numberColumn('Memory', ({ usage }) => formatBytes(usage.memoryBytes), {
    ...greatestFirst,
    id: 'memory',
    headerTip: 'Mean of the last five minutes',
    sortBy: ({ usage }) => usage.memoryBytes,
    width: '92px',
    hideBelow: 'md',
  }),
  numberColumn('Disk', ({ usage }) => formatBytes(usage.diskBytes), {
    ...greatestFirst,
    id: 'disk',
    headerTip: 'Disks of programs, and databases',
    sortBy: ({ usage }) => usage.diskBytes,
    width: '88px',
    hideBelow: 'lg',
  }),
  numberColumn('Log lines', ({ usage }) => formatCount(usage.logLines), {
    ...greatestFirst,
    id: 'logs',
    headerTip: 'Of the last 24 hours, to about a thousand lines',
    sortBy: ({ usage }) => usage.logLines,
    width: '92px',
    hideBelow: 'xs',
  }),
  numberColumn('RPC', ({ usage }) => formatCount(usage.rpcRequests), {
    ...greatestFirst,
    id: 'rpc',
    headerTip: 'Requests of the last 24 hours',
    sortBy: ({ usage }) => usage.rpcRequests,
    width: '72px',
    hideBelow: 'lg',
  }),
]
