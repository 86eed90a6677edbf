import type { OperatorUsage } from '@shoal/contract'
import type { Column } from '../../components/data-table/columns.ts'
import { numberColumn } from '../../components/data-table/named-columns.tsx'
import { emptyValue, formatBytes, formatCount } from '../../lib/format.ts'

type WithUsage = { usage: OperatorUsage }

/** Formats a number of cores with two decimals, so that the numbers of all rows align. */
const formatCores = (cores: number) => cores.toFixed(2)

/** Formats an amount. Zero is a muted placeholder, so that the other rows stand out. */
const formatUsed = (amount: number, format: (amount: number) => string) =>
  amount > 0 ? format(amount) : <span className="text-ink-3">{emptyValue}</span>

const greatestFirst = { isGreatestFirst: true } as const

/** The columns for the usage of organizations or versions. The endpoints can sort by their ids. */
export const usageColumns = <T extends WithUsage>(): Column<T>[] => [
  numberColumn('CPU', ({ usage }) => formatUsed(usage.cpuCores, formatCores), {
    ...greatestFirst,
    id: 'cpu',
    headerTip: 'Cores, mean of the last five minutes',
    sortBy: ({ usage }) => usage.cpuCores,
    width: '76px',
    narrowWidth: '72px',
  }),
  numberColumn('Memory', ({ usage }) => formatUsed(usage.memoryBytes, formatBytes), {
    ...greatestFirst,
    id: 'memory',
    headerTip: 'Mean of the last five minutes',
    sortBy: ({ usage }) => usage.memoryBytes,
    width: '92px',
    hideBelow: 'md',
  }),
  numberColumn('Disk', ({ usage }) => formatUsed(usage.diskBytes, formatBytes), {
    ...greatestFirst,
    id: 'disk',
    headerTip: 'Disks of programs, and databases',
    sortBy: ({ usage }) => usage.diskBytes,
    width: '88px',
    hideBelow: 'lg',
  }),
  numberColumn('Log lines', ({ usage }) => formatUsed(usage.logLines, formatCount), {
    ...greatestFirst,
    id: 'logs',
    headerTip: 'Lines of the last 24 hours, exact to about a thousand',
    sortBy: ({ usage }) => usage.logLines,
    width: '92px',
    hideBelow: 'xs',
  }),
  numberColumn('RPC', ({ usage }) => formatUsed(usage.rpcRequests, formatCount), {
    ...greatestFirst,
    id: 'rpc',
    headerTip: 'Requests of the last 24 hours',
    sortBy: ({ usage }) => usage.rpcRequests,
    width: '72px',
    hideBelow: 'lg',
  }),
]

/** Returns the columns such that, on phones, the number column by which the list is sorted replaces the default one. */
export function withSortedShown<T>(columns: readonly Column<T>[], sorted: string): readonly Column<T>[] {
  if (!columns.some(({ id, isNumber, hideBelow }) => id === sorted && isNumber && hideBelow)) return columns
  return columns.map(({ hideBelow, ...column }) => {
    if (column.id === sorted) return { ...column, ...(column.width && { narrowWidth: column.width }) }
    const narrow = hideBelow ?? (column.isNumber ? 'sm' : undefined)
    return { ...column, ...(narrow && { hideBelow: narrow }) }
  })
}
