import type { Squid } from '@shoal/contract'
import { formatInteger, formatPercent } from '../../lib/format.ts'
import { ProgressBar } from '../../ui/ProgressBar.tsx'

type Disk = NonNullable<Squid['addons']['postgres']>['disk']

const bytesPerMegabyte = 1024 * 1024
const tones = { LOW: 'good', NORMAL: 'good', UNKNOWN: 'info', WARNING: 'warn', CRITICAL: 'bad' } as const

/** Shows the used and total disk space of a database, in MB of 1024² bytes (spec 2.9). */
export function DiskUsage({ disk: { usedBytes, totalBytes, usageStatus } }: { disk: Disk }) {
  if (totalBytes <= 0 || usageStatus === 'UNKNOWN') return <span className="text-ink-3">not measured yet</span>
  const ratio = usedBytes / totalBytes
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <span className="tabular">
        {formatInteger(usedBytes / bytesPerMegabyte)} of {formatInteger(totalBytes / bytesPerMegabyte)} MB
      </span>
      <ProgressBar label="Database size" ratio={ratio} tone={tones[usageStatus]} />
      <span className="tabular text-ink-3">{formatPercent(ratio)}</span>
    </span>
  )
}
