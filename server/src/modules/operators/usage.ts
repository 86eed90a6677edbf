import type { OperatorUsage } from '@shoal/contract'

/** The usage of an organization or version that has not been measured. */
export const noUsage: OperatorUsage = { cpuCores: 0, memoryBytes: 0, diskBytes: 0, logLines: 0, rpcRequests: 0 }

export const addUsage = (a: OperatorUsage, b: OperatorUsage): OperatorUsage => ({
  cpuCores: a.cpuCores + b.cpuCores,
  memoryBytes: a.memoryBytes + b.memoryBytes,
  diskBytes: a.diskBytes + b.diskBytes,
  logLines: a.logLines + b.logLines,
  rpcRequests: a.rpcRequests + b.rpcRequests,
})
