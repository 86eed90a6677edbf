import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '../error-code.ts'
import { type CgroupBase, type CgroupFiles, MAX_PROCESSES, readNumber, readPairs } from './cgroup-files.ts'

const PERIOD_US = 100_000

/** Returns a cgroup in the four hierarchies of cgroup v1 (kernel: Documentation/admin-guide/cgroup-v1/). */
export function cgroupV1(base: Extract<CgroupBase, { version: 1 }>, name: string): CgroupFiles {
  const memory = join(base.memory, name)
  const cpu = join(base.cpu, name)
  const cpuacct = join(base.cpuacct, name)
  const pids = join(base.pids, name)
  return {
    // cpu and cpuacct often share a mount.
    dirs: [...new Set([memory, cpu, cpuacct, pids])],
    setLimits({ cpuCores, memoryBytes }) {
      setMemoryLimit(memory, Math.floor(memoryBytes))
      writeFileSync(join(cpu, 'cpu.cfs_period_us'), String(PERIOD_US))
      writeFileSync(join(cpu, 'cpu.cfs_quota_us'), String(Math.max(1000, Math.round(cpuCores * PERIOD_US))))
      writeFileSync(join(pids, 'pids.max'), String(MAX_PROCESSES))
    },
    forbidForks: () => writeFileSync(join(pids, 'pids.max'), '0'),
    usage: () => ({
      cpuSeconds: readNumber(cpuacct, 'cpuacct.usage') / 1e9,
      throttledSeconds: (readPairs(cpu, 'cpu.stat').get('throttled_time') ?? 0) / 1e9,
      memoryBytes: Math.max(
        0,
        readNumber(memory, 'memory.usage_in_bytes') -
          (readPairs(memory, 'memory.stat').get('total_inactive_file') ?? 0),
      ),
      oomKills: readPairs(memory, 'memory.oom_control').get('oom_kill') ?? 0,
    }),
  }
}

/** Disables swap by setting the same limit for memory and memory + swap. The kernel requires memory ≤ memory + swap at each step. */
function setMemoryLimit(dir: string, bytes: number): void {
  const limit = join(dir, 'memory.limit_in_bytes')
  const withSwap = join(dir, 'memory.memsw.limit_in_bytes')
  const isShrinking = bytes <= readNumber(dir, 'memory.limit_in_bytes')
  for (const file of isShrinking ? [limit, withSwap] : [withSwap, limit]) {
    try {
      writeFileSync(file, String(bytes))
    } catch (error) {
      // The file does not exist in kernels without swap accounting.
      if (file === limit || errorCode(error) !== 'ENOENT') throw error
    }
  }
}
