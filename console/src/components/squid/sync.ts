import { syncPercent, type Processor } from '@shoal/contract'
import { formatDecimal, formatInteger, formatPercent } from '../../lib/format.ts'

/** `14 min`: an estimated duration, rounded to one unit. */
export function formatSpan(seconds: number): string {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.round(minutes / 60)
  if (hours < 24) return `${hours} h`
  const days = Math.round(hours / 24)
  return days === 1 ? '1 day' : `${days} days`
}

type Progress = Pick<Processor, 'status' | 'syncState' | 'blocksPerSecond' | 'etaSeconds'>

/** Blocks between a processor and the head of its chain; null until both are known. */
export function lagBlocks({ status, syncState }: Pick<Progress, 'status' | 'syncState'>): number | null {
  if (syncPercent({ status, syncState }) === null || syncState.totalBlocks <= 0) return null
  return Math.max(0, syncState.totalBlocks - Math.max(0, syncState.currentBlock))
}

/** Blocks per second, with decimals below 10. */
export const formatSpeed = (blocksPerSecond: number): string =>
  blocksPerSecond >= 10 ? formatInteger(blocksPerSecond) : formatDecimal(Math.round(blocksPerSecond * 100) / 100)

/** One line about all processors: the progress of the slowest, or that all are at the head. Null while unknown. */
export function syncSummary(processors: readonly Progress[]): string | null {
  const known = processors.flatMap((p) => {
    const percent = syncPercent(p)
    return percent === null || p.syncState.totalBlocks <= 0 ? [] : [{ ...p, percent }]
  })
  const last = known.toSorted((a, b) => a.percent - b.percent)[0]
  if (!last) return null
  if (known.length === processors.length && known.every(({ status }) => status === 'SYNCED')) {
    const lag = Math.max(...known.map((p) => lagBlocks(p) ?? 0))
    return lag === 0 ? 'at head' : `${lag === 1 ? '1 block' : `${formatInteger(lag)} blocks`} behind the head`
  }
  const parts = [`${formatPercent(last.percent / 100)} synced`]
  if (last.status === 'STALLED') return [...parts, 'data source not responding'].join(' · ')
  if (last.blocksPerSecond) parts.push(`${formatSpeed(last.blocksPerSecond)} blocks/s`)
  if (last.etaSeconds) parts.push(`about ${formatSpan(last.etaSeconds)} left`)
  return parts.join(' · ')
}

/** The same for a table row: percentage and remaining time. */
export function shortSyncSummary(processors: readonly Progress[]): string | null {
  const speedless = processors.map((p) => ({ ...p, blocksPerSecond: null }))
  return syncSummary(speedless)?.replace(' synced', '').replace('about ', '') ?? null
}
