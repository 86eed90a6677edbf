import type { Restart } from '../driver.ts'
import type { CgroupUsage, RunCounters } from './cgroup-files.ts'
import type { ContainerRecord, RecordedEnd, RecordedRun } from './container-record.ts'
import { containerCgroup, programTree, type ContainerContext } from './container-run.ts'
import type { ProcessInfo } from './processes.ts'
import { type ProgramTree, processesOfTree } from './program-tree.ts'
import { determineEnd } from './run-end.ts'
import type { WatchedRun } from './run.ts'

export type RunUsage = RunCounters & { memoryBytes: number }

/** Maximum time from an out-of-memory kill to the end of the run, if the kill caused the end. */
const MAX_EXIT_DELAY_MS = 2000

/** Measures the current run of a container: by its cgroup, or by its processes on a host without cgroups. */
export class RunMeter {
  readonly #context: ContainerContext
  readonly #processes = new ProcessMeter()
  readonly #survivedKills = new SurvivedKills()

  constructor(context: ContainerContext) {
    this.#context = context
  }

  /** Must be called at the start of each run. */
  reset(): void {
    this.#processes.reset()
    this.#survivedKills.reset()
  }

  /** Measures what the current run has used so far. `listAll`: lists every process of the host, called only without cgroups. */
  measure(record: ContainerRecord, run: WatchedRun | null, listAll: () => ProcessInfo[]): RunUsage {
    const counted = containerCgroup(this.#context, record)?.usage()
    if (!counted) return this.#processes.measure(programTree(this.#context, record, run), listAll())
    const counters = countersOfRun(record, counted)
    this.#survivedKills.record(counters.oomKills, this.#nowMs())
    return { ...counters, memoryBytes: counted.memoryBytes }
  }

  /** Returns how a run ended, and what it used. Must be called after its last process has ended. */
  end(
    record: ContainerRecord,
    run: RecordedRun,
    observed: { exitCode: number | null; isStopped: boolean; restart: Restart | undefined },
  ): { lastRun: RecordedEnd; used: RunCounters } {
    const counted = containerCgroup(this.#context, record)?.usage()
    const counters = counted ? countersOfRun(record, counted) : null
    const lastRun = determineEnd(this.#context, record, run, {
      ...observed,
      kernelOomKills: counters?.oomKills ?? null,
      survivedOomKills: this.#survivedKills.countAt(this.#nowMs()),
    })
    return { lastRun, used: { ...(counters ?? this.#processes.counters()), oomKills: lastRun.oomKills } }
  }

  #nowMs(): number {
    return this.#context.hostContext.clock.now().getTime()
  }
}

/** Returns the part of the cgroup's counters that belongs to the latest run. */
function countersOfRun({ countedBefore }: ContainerRecord, counted: CgroupUsage): RunCounters & { oomKills: number } {
  const increase = (now: number, before: number | null) => Math.max(0, now - (before ?? 0))
  return {
    cpuSeconds: increase(counted.cpuSeconds, countedBefore.cpuSeconds),
    throttledSeconds: increase(counted.throttledSeconds, countedBefore.throttledSeconds),
    oomKills: increase(counted.oomKills, countedBefore.oomKills),
  }
}

/** Measures a run on a host without cgroups: adds up the usage of its processes, including those that have ended. */
class ProcessMeter {
  readonly #cpuSeconds = new Map<string, number>()

  measure(tree: ProgramTree, allProcesses: ProcessInfo[]): RunUsage {
    const running = processesOfTree(tree, allProcesses)
    for (const { pid, startedAt, cpuSeconds } of running) this.#cpuSeconds.set(`${pid} ${startedAt}`, cpuSeconds)
    return {
      ...this.counters(),
      memoryBytes: running.reduce((total, { memoryBytes }) => total + memoryBytes, 0),
    }
  }

  /** Returns the counters of the last measurement. Throttling and out-of-memory kills are unknown without cgroups. */
  counters(): RunCounters {
    const seconds = [...this.#cpuSeconds.values()]
    const cpuSeconds = seconds.length === 0 ? null : seconds.reduce((total, value) => total + value, 0)
    return { cpuSeconds, throttledSeconds: null, oomKills: null }
  }

  /** Must be called at the start of each run. */
  reset(): void {
    this.#cpuSeconds.clear()
  }
}

/**
 * Distinguishes out-of-memory kills that ended a run from those that it survived, since the kernel only counts them. If the run continued
 * long after a kill, the killed process was a child on which the program did not depend.
 */
class SurvivedKills {
  #survived = 0
  #counted = 0
  #countedAtMs = 0

  /** Must be called at the start of each run. */
  reset(): void {
    this.#survived = 0
    this.#counted = 0
  }

  /** Records the kernel's count of kills since the start of the run. */
  record(kills: number, atMs: number): void {
    this.countAt(atMs)
    if (kills === this.#counted) return
    this.#counted = kills
    this.#countedAtMs = atMs
  }

  /** Returns the number of kills that a run has survived if it ends at `atMs`. */
  countAt(atMs: number): number {
    if (atMs - this.#countedAtMs >= MAX_EXIT_DELAY_MS) this.#survived = this.#counted
    return this.#survived
  }
}
