import { mkdirSync, readFileSync, readdirSync, rmdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from '../error-code.ts'
import type { Resources } from '../driver.ts'
import type { CgroupBase, CgroupUsage } from './cgroup-files.ts'
import { cgroupV1 } from './cgroup-v1.ts'
import { cgroupV2 } from './cgroup-v2.ts'

/** The limits around one container or one build. All calls are plain reads and writes of the kernel's own files. */
export type Cgroup = {
  /** A process that writes `0` into each of these is inside. */
  joinFiles: string[]
  /** Makes it when it is not there, and sets the limits anew. */
  create(resources: Resources): void
  /** Pids inside, threads not counted. Empty when there is no such cgroup. */
  processes(): number[]
  /** Nothing inside can start another process any more. */
  forbidForks(): void
  /** Null when there is no such cgroup. */
  usage(): CgroupUsage | null
  /** Gone afterwards. The last process needs a moment to leave: EBUSY is retried. */
  remove(): Promise<void>
}

/** The cgroup `name` under `base`; nothing is touched yet. */
export function openCgroup(base: CgroupBase, name: string): Cgroup {
  const files = base.version === 1 ? cgroupV1(base, name) : cgroupV2(base, name)
  const [first = ''] = files.dirs
  return {
    joinFiles: files.dirs.map((dir) => join(dir, 'cgroup.procs')),
    create(resources) {
      for (const dir of files.dirs) mkdirSync(dir, { recursive: true })
      files.setLimits(resources)
    },
    processes: () => unlessGone(() => readPids(first)) ?? [],
    forbidForks: () => unlessGone(() => files.forbidForks()),
    usage: () => unlessGone(() => files.usage()),
    async remove() {
      for (const dir of files.dirs) await removeDir(dir)
    },
  }
}

/** Names of the cgroups under `base`. */
export function cgroupNames(base: CgroupBase): string[] {
  const dir = base.version === 1 ? base.memory : base.unified
  const entries = unlessGone(() => readdirSync(dir, { withFileTypes: true })) ?? []
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
}

/** Removes the base itself when nothing is left in it. */
export async function removeCgroupBase(base: CgroupBase): Promise<void> {
  if (cgroupNames(base).length > 0) return
  const dirs = base.version === 1 ? [base.memory, base.cpu, base.cpuacct, base.pids] : [base.unified]
  for (const dir of dirs) await removeDir(dir)
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
        throw new Error(`cgroup ${basename(dir)} cannot be removed`, { cause: error })
    }
    await sleep(20)
  }
}

/** A cgroup vanishes while we look (ENOENT at open, ENODEV at read): that is an answer, not an error. */
function unlessGone<T>(look: () => T): T | null {
  try {
    return look()
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT' || code === 'ENODEV') return null
    throw error
  }
}
