import type { RunCounters } from './cgroup-files.ts'
import type { ProcessInfo } from './processes.ts'
import { type ProgramTree, treeOf } from './program-tree.ts'

/** What a run uses. */
export type RunUsage = RunCounters & { memoryBytes: number }

/** Counts what a run uses on a host without cgroups: sums over processes, those included that ended meanwhile. */
export class ProcessMeter {
  readonly #cpuSeconds = new Map<string, number>()

  measure(tree: ProgramTree, all: ProcessInfo[]): RunUsage {
    const running = treeOf(tree, all)
    for (const { pid, startedAt, cpuSeconds } of running) this.#cpuSeconds.set(`${pid} ${startedAt}`, cpuSeconds)
    return {
      ...this.counted(),
      memoryBytes: running.reduce((total, { memoryBytes }) => total + memoryBytes, 0),
    }
  }

  /** As last measured. Who is held back or killed for memory, nobody tells here. */
  counted(): RunCounters {
    const seconds = [...this.#cpuSeconds.values()]
    const cpuSeconds = seconds.length === 0 ? null : seconds.reduce((total, one) => total + one, 0)
    return { cpuSeconds, throttledSeconds: null, oomKills: null }
  }

  /** A run begins. */
  reset(): void {
    this.#cpuSeconds.clear()
  }
}
