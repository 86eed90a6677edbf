import type { Squid } from '@shoal/contract'

type DiskUsage = NonNullable<Squid['addons']['postgres']>['disk']['usageStatus']

/** Classifies disk usage: LOW below 50 %, NORMAL below 80 %, WARNING below 95 %, CRITICAL from 95 %; UNKNOWN until measured. */
export function classifyDiskUsage(usedBytes: number | null, totalBytes: number): DiskUsage {
  if (usedBytes === null || totalBytes <= 0) return 'UNKNOWN'
  const share = usedBytes / totalBytes
  if (share >= 0.95) return 'CRITICAL'
  if (share >= 0.8) return 'WARNING'
  return share < 0.5 ? 'LOW' : 'NORMAL'
}
