import type { Squid } from '@shoal/contract'

type DiskUsage = NonNullable<Squid['addons']['postgres']>['disk']['usageStatus']

/** LOW below half, WARNING from 80 % on, CRITICAL from 95 % on; UNKNOWN until it was measured. */
export function diskUsage(usedBytes: number | null, totalBytes: number): DiskUsage {
  if (usedBytes === null || totalBytes <= 0) return 'UNKNOWN'
  const share = usedBytes / totalBytes
  if (share >= 0.95) return 'CRITICAL'
  if (share >= 0.8) return 'WARNING'
  return share < 0.5 ? 'LOW' : 'NORMAL'
}
