import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '../error-code.ts'
import { type CgroupBase, type CgroupFiles, MAX_PROCESSES, readNumber, readPairs } from './cgroup-files.ts'

const PERIOD_US = 100_000

/** Returns a cgroup in the unified hierarchy (kernel: Documentation/admin-guide/cgroup-v2.rst). */
export function cgroupV2(base: Extract<CgroupBase, { version: 2 }>, name: string): CgroupFiles {
  const dir = join(base.unified, name)
  return {
    dirs: [dir],
    setLimits({ cpuCores, memoryBytes }) {
      write(dir, 'memory.max', String(Math.floor(memoryBytes)))
      writeIfExists(dir, 'memory.swap.max', '0')
      write(dir, 'cpu.max', `${Math.max(1000, Math.round(cpuCores * PERIOD_US))} ${PERIOD_US}`)
      write(dir, 'pids.max', String(MAX_PROCESSES))
    },
    forbidForks: () => write(dir, 'pids.max', '0'),
    usage() {
      const cpu = readPairs(dir, 'cpu.stat')
      const cache = readPairs(dir, 'memory.stat').get('inactive_file') ?? 0
      return {
        cpuSeconds: (cpu.get('usage_usec') ?? 0) / 1e6,
        throttledSeconds: (cpu.get('throttled_usec') ?? 0) / 1e6,
        memoryBytes: Math.max(0, readNumber(dir, 'memory.current') - cache),
        oomKills: readPairs(dir, 'memory.events').get('oom_kill') ?? 0,
      }
    },
  }
}

const write = (dir: string, file: string, value: string): void => writeFileSync(join(dir, file), value)

/** Ignores missing files: kernels without swap, or older than 4.19, lack some. */
function writeIfExists(dir: string, file: string, value: string): void {
  try {
    write(dir, file, value)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
  }
}
