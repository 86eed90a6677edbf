import type { CgroupUsage } from './cgroup-files.ts'
import type { ProcessInfo } from './processes.ts'
import { type ProgramTree, treeOf } from './program-tree.ts'

/** Counts what a tree of programs uses on a host without cgroups: sums over processes, those included that ended meanwhile. */
export class ProcessMeter {
  readonly #cpuSeconds = new Map<string, number>()

  measure(tree: ProgramTree, all: ProcessInfo[]): CgroupUsage {
    const running = treeOf(tree, all)
    for (const { pid, startedAt, cpuSeconds } of running) this.#cpuSeconds.set(`${pid} ${startedAt}`, cpuSeconds)
    return {
      cpuSeconds: this.total(),
      throttledSeconds: 0,
      memoryBytes: running.reduce((total, { memoryBytes }) => total + memoryBytes, 0),
      oomKills: 0,
    }
  }

  total(): number {
    let total = 0
    for (const seconds of this.#cpuSeconds.values()) total += seconds
    return total
  }

  /** A run has ended: answers what it used up and begins anew. */
  takeTotal(): number {
    const total = this.total()
    this.#cpuSeconds.clear()
    return total
  }
}
