import type { RunCounters } from './cgroup-files.ts'
import type { ProcessInfo } from './processes.ts'
import { type ProgramTree, treeOf } from './program-tree.ts'

/** Usage of a run. */
export type RunUsage = RunCounters & { memoryBytes: number }

/** Measures a run on a host without cgroups, as the sum over its processes, including ended ones. */
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

  /** As last measured. Throttling and out-of-memory kills are unknown without cgroups. */
  counted(): RunCounters {
    const seconds = [...this.#cpuSeconds.values()]
    const cpuSeconds = seconds.length === 0 ? null : seconds.reduce((total, one) => total + one, 0)
    return { cpuSeconds, throttledSeconds: null, oomKills: null }
  }

  /** Call at the start of a run. */
  reset(): void {
    this.#cpuSeconds.clear()
  }
}
