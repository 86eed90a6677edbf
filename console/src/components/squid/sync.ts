import { syncPercent, type Processor } from '@shoal/contract'
import { countOf, formatDecimal, formatInteger, formatPercent } from '../../lib/format.ts'

/** `14 min`: an estimated duration, rounded to whole seconds, minutes, hours or days. */
export function formatSpan(seconds: number): string {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.round(minutes / 60)
  if (hours < 24) return `${hours} h`
  const days = Math.round(hours / 24)
  return countOf(days, 'day')
}

type Progress = Pick<Processor, 'status' | 'syncState' | 'blocksPerSecond' | 'etaSeconds'>

/** The number of blocks from a processor to the head of its chain; null until both are known. */
export function lagBlocks({ status, syncState }: Pick<Progress, 'status' | 'syncState'>): number | null {
  if (syncPercent({ status, syncState }) === null || syncState.totalBlocks <= 0) return null
  return Math.max(0, syncState.totalBlocks - Math.max(0, syncState.currentBlock))
}

/** Blocks per second, with decimals below 10. */
export const formatSpeed = (blocksPerSecond: number): string =>
  blocksPerSecond >= 10 ? formatInteger(blocksPerSecond) : formatDecimal(Math.round(blocksPerSecond * 100) / 100)

/** One line about all processors: the progress of the one that is furthest behind, or that all are at the head. Null while unknown. */
export function syncSummary(processors: readonly Progress[]): string | null {
  const measured = processors.flatMap((p) => {
    const percent = syncPercent(p)
    return percent === null || p.syncState.totalBlocks <= 0 ? [] : [{ ...p, percent }]
  })
  const slowest = measured.toSorted((a, b) => a.percent - b.percent)[0]
  if (!slowest) return null
  if (measured.length === processors.length && measured.every(({ status }) => status === 'SYNCED')) {
    const lag = Math.max(...measured.map((p) => lagBlocks(p) ?? 0))
    return lag === 0 ? 'at head' : `${countOf(lag, 'block')} behind the head`
  }
  const parts = [`${formatPercent(floorPercent(slowest.percent) / 100)} synced`]
  if (slowest.status === 'STALLED') return [...parts, 'data source not responding'].join(' · ')
  if (slowest.blocksPerSecond) parts.push(`${formatSpeed(slowest.blocksPerSecond)} blocks/s mapped`)
  if (slowest.etaSeconds) parts.push(`about ${formatSpan(slowest.etaSeconds)} left`)
  return parts.join(' · ')
}

/** Rounds down to two decimals, because 100 % means that nothing is left. */
const floorPercent = (percent: number): number => Math.floor(percent * 100) / 100

/** Like `syncSummary`, but shorter, for table rows: percentage and remaining time. */
export function shortSyncSummary(processors: readonly Progress[]): string | null {
  const withoutSpeed = processors.map((p) => ({ ...p, blocksPerSecond: null }))
  return syncSummary(withoutSpeed)?.replace(' synced', '').replace('about ', '') ?? null
}
