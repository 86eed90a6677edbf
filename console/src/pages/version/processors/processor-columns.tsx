import { syncPercent, type Processor } from '@shoal/contract'
import type { Column } from '../../../components/data-table/columns.ts'
import { StatusDot } from '../../../components/StatusDot.tsx'
import { formatInteger, formatPercent, nothing } from '../../../lib/format.ts'
import type { Tone } from '../../../ui/Badge.tsx'
import { ProgressBar } from '../../../ui/ProgressBar.tsx'
import { formatLag, formatSpan, formatSpeed, lagBlocks } from './sync.ts'

/** Spec 4: what is neither syncing nor synced is starting. */
const looks: Record<Processor['status'], { label: string; tone: Tone; isMoving: boolean }> = {
  STARTING: { label: 'Starting', tone: 'info', isMoving: true },
  SYNCING: { label: 'Syncing', tone: 'info', isMoving: true },
  SYNCED: { label: 'Synced', tone: 'good', isMoving: false },
  STUCK: { label: 'Stuck', tone: 'bad', isMoving: false },
  UNKNOWN: { label: 'Starting', tone: 'warn', isMoving: false },
}

const none = <span className="text-ink-3">{nothing}</span>

export const processorColumns: Column<Processor>[] = [
  { id: 'name', header: 'Name', cell: ({ name }) => <code className="text-[13px]">{name}</code> },
  {
    id: 'status',
    header: 'Status',
    width: '110px',
    cell: ({ status, reason }) => (
      <StatusDot tone={looks[status].tone} isMoving={looks[status].isMoving} {...(reason && { reason })}>
        {looks[status].label}
      </StatusDot>
    ),
  },
  {
    id: 'progress',
    header: 'Progress',
    width: '176px',
    cell: (processor) => {
      const percent = syncPercent(processor)
      if (percent === null) return none
      return (
        <span className="flex items-center gap-2.5">
          <ProgressBar
            label={`Progress of ${processor.name}`}
            ratio={percent / 100}
            tone={processor.status === 'STUCK' ? 'bad' : processor.status === 'SYNCED' ? 'good' : 'info'}
            className="max-xs:hidden"
          />
          <span className="tabular">{formatPercent(percent / 100)}</span>
        </span>
      )
    },
  },
  {
    id: 'block',
    header: 'Block',
    width: '110px',
    isNumber: true,
    foldBelow: 'sm',
    cell: ({ syncState: { currentBlock } }) => (currentBlock < 0 ? none : formatInteger(currentBlock)),
  },
  {
    id: 'head',
    header: 'Head',
    headerTip: 'The height of its chain.',
    width: '110px',
    isNumber: true,
    foldBelow: 'lg',
    cell: ({ syncState: { totalBlocks } }) => (totalBlocks <= 0 ? none : formatInteger(totalBlocks)),
  },
  {
    id: 'lag',
    header: 'Lag',
    headerTip: 'Blocks between the last indexed one and the head of the chain.',
    width: '124px',
    isNumber: true,
    foldBelow: 'lg',
    cell: (processor) => {
      const lag = lagBlocks(processor)
      return lag === null ? none : formatLag(lag)
    },
  },
  {
    id: 'speed',
    header: 'Blocks/s',
    width: '86px',
    isNumber: true,
    foldBelow: 'sm',
    cell: ({ blocksPerSecond }) => (blocksPerSecond === null ? none : formatSpeed(blocksPerSecond)),
  },
  {
    id: 'eta',
    header: 'ETA',
    headerTip: 'When it reaches the head at its present speed.',
    width: '80px',
    isNumber: true,
    foldBelow: 'xs',
    cell: ({ status, etaSeconds }) =>
      status === 'SYNCING' && etaSeconds !== null && etaSeconds > 0 ? formatSpan(etaSeconds) : none,
  },
  {
    id: 'restarts',
    header: 'Restarts',
    headerTip: 'How often it was started anew after it had ended by itself.',
    width: '84px',
    isNumber: true,
    foldBelow: 'md',
    cell: ({ restarts }) => <span className={restarts > 0 ? 'text-warn' : ''}>{formatInteger(restarts)}</span>,
  },
]
