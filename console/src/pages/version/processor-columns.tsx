import { syncPercent, type Processor } from '@shoal/contract'
import type { Column } from '../../components/data-table/columns.ts'
import { StatusDot } from '../../components/StatusDot.tsx'
import { formatInteger, formatPercent, emptyValue } from '../../lib/format.ts'
import type { Tone } from '../../ui/tones.ts'
import { ProgressBar } from '../../ui/ProgressBar.tsx'
import { formatSpan, formatSpeed, lagBlocks } from '../../components/squid/sync.ts'

/** The labels and tones of statuses. A processor with an unknown status is shown as starting (spec 4). */
const statusAppearance: Record<Processor['status'], { label: string; tone: Tone; isPulsing: boolean }> = {
  STARTING: { label: 'Starting', tone: 'info', isPulsing: true },
  SYNCING: { label: 'Syncing', tone: 'info', isPulsing: true },
  SYNCED: { label: 'Synced', tone: 'good', isPulsing: false },
  STALLED: { label: 'Stalled', tone: 'warn', isPulsing: false },
  STUCK: { label: 'Stuck', tone: 'bad', isPulsing: false },
  UNKNOWN: { label: 'Starting', tone: 'warn', isPulsing: false },
}

const barTones = {
  STARTING: 'info',
  SYNCING: 'info',
  SYNCED: 'good',
  STALLED: 'warn',
  STUCK: 'bad',
  UNKNOWN: 'warn',
} as const

const emptyCell = <span className="text-ink-3">{emptyValue}</span>

const nameColumn: Column<Processor> = {
  id: 'name',
  header: 'Name',
  cell: ({ name }) => <code className="text-sm">{name}</code>,
}

const statusColumn: Column<Processor> = {
  id: 'status',
  header: 'Status',
  width: '104px',
  cell: ({ status, reason }) => (
    <StatusDot
      tone={statusAppearance[status].tone}
      isPulsing={statusAppearance[status].isPulsing}
      {...(reason && { reason })}
    >
      {statusAppearance[status].label}
    </StatusDot>
  ),
}

const progressColumn: Column<Processor> = {
  id: 'progress',
  header: 'Progress',
  width: '172px',
  cell: (processor) => {
    const percent = syncPercent(processor)
    if (percent === null || processor.syncState.totalBlocks <= 0) return emptyCell
    return (
      <span className="flex items-center gap-2.5">
        <ProgressBar
          label={`Progress of ${processor.name}`}
          ratio={percent / 100}
          tone={barTones[processor.status]}
          className="max-xs:hidden"
        />
        <span className="tabular">{formatPercent(percent / 100)}</span>
      </span>
    )
  },
}

const blockColumn: Column<Processor> = {
  id: 'block',
  header: 'Block',
  headerTip: 'The last indexed block. Hover over it to see the head of the chain.',
  width: '104px',
  isNumber: true,
  hideBelow: 'sm',
  cell: ({ syncState: { currentBlock, totalBlocks } }) =>
    currentBlock < 0 ? (
      emptyCell
    ) : (
      <span data-tip={`Head: ${formatInteger(totalBlocks)}`}>{formatInteger(currentBlock)}</span>
    ),
}

const lagColumn: Column<Processor> = {
  id: 'lag',
  header: 'Lag',
  headerTip: 'Blocks between the last indexed block and the head of the chain; a duration while the head is unknown.',
  width: '104px',
  isNumber: true,
  hideBelow: 'lg',
  cell: (processor) => {
    const { status, lag } = processor
    if (status === 'STALLED')
      return lag?.seconds ? (
        <span data-tip="The head has been unknown for this long">{formatSpan(lag.seconds)}</span>
      ) : (
        emptyCell
      )
    const blocks = lagBlocks(processor)
    return blocks === null ? emptyCell : blocks === 0 ? 'at head' : formatInteger(blocks)
  },
}

const speedColumn: Column<Processor> = {
  id: 'speed',
  header: 'Mapping/s',
  headerTip:
    'Blocks per second while its handlers run. Indexing is slower, since the processor also waits for data and the database.',
  width: '92px',
  isNumber: true,
  hideBelow: 'lg',
  cell: ({ blocksPerSecond }) => (blocksPerSecond === null ? emptyCell : formatSpeed(blocksPerSecond)),
}

const etaColumn: Column<Processor> = {
  id: 'eta',
  header: 'ETA',
  headerTip: 'Time until it reaches the head at its current speed.',
  width: '76px',
  isNumber: true,
  hideBelow: 'xs',
  cell: ({ status, etaSeconds }) =>
    status === 'SYNCING' && etaSeconds !== null && etaSeconds > 0 ? formatSpan(etaSeconds) : emptyCell,
}

const restartsColumn: Column<Processor> = {
  id: 'restarts',
  header: 'Restarts',
  headerTip: 'Number of restarts after the processor exited.',
  width: '84px',
  isNumber: true,
  hideBelow: 'lg',
  cell: ({ restarts }) => <span className={restarts > 0 ? 'text-warn' : ''}>{formatInteger(restarts)}</span>,
}

/** The columns of the table of processors. */
export const processorColumns = [
  nameColumn,
  statusColumn,
  progressColumn,
  blockColumn,
  lagColumn,
  speedColumn,
  etaColumn,
  restartsColumn,
]
/** The columns of a table in a narrow container. */
export const compactProcessorColumns = [nameColumn, statusColumn, progressColumn, blockColumn, lagColumn, etaColumn]
