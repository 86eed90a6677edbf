import { mkdirSync, readFileSync, readdirSync, rmdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from '../error-code.ts'
import type { Resources } from '../driver.ts'
import type { CgroupBase, CgroupUsage } from './cgroup-files.ts'
import { cgroupV1 } from './cgroup-v1.ts'
import { cgroupV2 } from './cgroup-v2.ts'

/** The cgroup of one container or build step. All methods read and write files of the kernel synchronously. */
export type Cgroup = {
  /** A process joins the cgroup by writing `0` to each of these files. */
  procsFiles: string[]
  /** Creates the cgroup if needed, and sets its limits. */
  create(resources: Resources): void
  /** Returns the pids of its processes, without threads. Empty when the cgroup does not exist. */
  processes(): number[]
  /** Prevents its processes from starting others. */
  forbidForks(): void
  /** Returns null when the cgroup does not exist. */
  usage(): CgroupUsage | null
  /** Removes the cgroup. Retries EBUSY, since the last process needs a moment to exit. */
  remove(): Promise<void>
}

/** Returns the cgroup `name` under `base`, without creating it. */
export function openCgroup(base: CgroupBase, name: string): Cgroup {
  const files = base.version === 1 ? cgroupV1(base, name) : cgroupV2(base, name)
  const [firstDir = ''] = files.dirs
  return {
    procsFiles: files.dirs.map((dir) => join(dir, 'cgroup.procs')),
    create(resources) {
      for (const dir of files.dirs) mkdirSync(dir, { recursive: true })
      files.setLimits(resources)
    },
    processes: () => unlessRemoved(() => readPids(firstDir)) ?? [],
    forbidForks: () => unlessRemoved(() => files.forbidForks()),
    usage: () => unlessRemoved(() => files.usage()),
    async remove() {
      for (const dir of files.dirs) await removeDir(dir)
    },
  }
}

/** Returns the names of the cgroups under `base`. */
export function cgroupNames(base: CgroupBase): string[] {
  const dir = base.version === 1 ? base.memory : base.unified
  const entries = unlessRemoved(() => readdirSync(dir, { withFileTypes: true })) ?? []
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
}

/** Returns the directories of the base, one for each hierarchy of the kernel. */
export const baseDirs = (base: CgroupBase): string[] =>
  base.version === 1 ? [base.memory, base.cpu, base.cpuacct, base.pids] : [base.unified]

/** Removes the base if it is empty. */
export async function removeCgroupBase(base: CgroupBase): Promise<void> {
  if (cgroupNames(base).length > 0) return
  for (const dir of baseDirs(base)) await removeDir(dir)
}

function readPids(dir: string): number[] {
  const text = readFileSync(join(dir, 'cgroup.procs'), 'utf8')
  return text.split('\n').filter(Boolean).map(Number)
}

async function removeDir(dir: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return rmdirSync(dir)
    } catch (error) {
      const code = errorCode(error)
      if (code === 'ENOENT') return
      if (code !== 'EBUSY' || attempt >= 100)
        throw new Error(`cgroup ${basename(dir)} could not be removed`, { cause: error })
    }
    await sleep(20)
  }
}

/** Returns null if the cgroup was removed during the read (ENOENT on open, ENODEV on read). */
function unlessRemoved<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT' || code === 'ENODEV') return null
    throw error
  }
}
