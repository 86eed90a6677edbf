import { totalmem } from 'node:os'

/** Limits of a cluster that must leave memory and CPU time to the rest of the host. */
export type PostgresLimits = {
  /** Memory of all processes of the cluster together, including the file cache. Enforced where cgroups can be created. */
  memoryBytes: number
  /**
   * Address space of each process (RLIMIT_AS). A statement that needs more fails with the SQL error "out of memory"; without this
   * limit the kernel would kill the process, and Postgres would end the connections of all tenants.
   */
  processBytes: number
  /** CPU time relative to other programs, which have 1024, while the CPUs are busy. */
  cpuShares: number
}

/** Returns limits for a cluster of tenants on this host: half of the memory, and half of the CPU share of other programs. */
export function tenantLimits(memoryBytes = Math.floor(totalmem() / 2)): PostgresLimits {
  const processBytes = Math.min(Math.max(Math.floor(memoryBytes / 8), minProcessBytes), maxProcessBytes)
  return { memoryBytes, processBytes, cpuShares: 512 }
}

/** A process maps about 200 MB before it does any work: programs, libraries, and the shared buffers. */
const minProcessBytes = 768 * 2 ** 20
const maxProcessBytes = 4 * 2 ** 30

/** Returns the command that starts a program with the address space limit. */
export function withAddressSpaceLimit(
  limits: PostgresLimits | undefined,
  program: string,
  args: string[],
): [program: string, args: string[]] {
  if (!limits) return [program, args]
  const kibibytes = String(Math.floor(limits.processBytes / 1024))
  // Postgres runs without this limit on systems that do not have it (macOS).
  return ['/bin/sh', ['-c', 'ulimit -v "$0" 2>/dev/null; exec "$@"', kibibytes, program, ...args]]
}
