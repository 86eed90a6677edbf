import { setTimeout as sleep } from 'node:timers/promises'
import type { Cgroup } from './cgroup.ts'
import { markOf } from './launch-script.ts'
import { type ProcessInfo, listProcesses, signal, startEnvironment } from './processes.ts'

/** All processes of one container or build, including detached ones. */
export type ProgramTree = {
  /** The mark of the programs (see `markProgram`), unique among the servers of this host. */
  mark: string
  cgroup: Cgroup | null
  /** The process started by the driver, if known. */
  root: Pick<ProcessInfo, 'pid' | 'startedAt'> | null
  /** True when the root is a shim, which must survive to record the exit. */
  isRootSpared?: boolean
  /** False while the root may have started a program that has not joined the cgroup yet. */
  isOver?: () => boolean
}

/**
 * The pids of the tree. A cgroup lists them exactly. Without one: the root, its session, and processes with the mark, each with
 * all descendants.
 */
function programsOf(tree: ProgramTree): number[] {
  if (tree.cgroup) return tree.cgroup.processes()
  return treeOf(tree, listProcesses()).map(({ pid }) => pid)
}

/** Those of `all` that belong to the tree. */
export function treeOf({ mark, root, isRootSpared }: ProgramTree, all: ProcessInfo[]): ProcessInfo[] {
  const children = Map.groupBy(all, ({ parent }) => parent)
  const holder = all.find(({ pid }) => pid === root?.pid)
  // The pid may have been reused by an unrelated process.
  const rootPid = holder && holder.startedAt !== root?.startedAt ? null : root?.pid
  const isOurs = (info: ProcessInfo) =>
    info.pid === rootPid || info.session === rootPid || markOf(startEnvironment(info.pid)) === mark
  const found = new Map<number, ProcessInfo>()
  const add = (info: ProcessInfo) => {
    if (found.has(info.pid) || info.pid === process.pid) return
    found.set(info.pid, info)
    children.get(info.pid)?.forEach(add)
  }
  all.filter(isOurs).forEach(add)
  if (isRootSpared && root) found.delete(root.pid)
  return [...found.values()]
}

/**
 * Stops every program of the tree: SIGTERM, then SIGKILL after the grace period until none is left.
 * `spare` gets no SIGTERM: bwrap would kill the whole sandbox immediately.
 * @throws when a process survives SIGKILL (it hangs in the kernel)
 */
export async function endPrograms(
  tree: ProgramTree,
  options: { graceMs: number; spare: number | null },
): Promise<void> {
  if (options.graceMs > 0 && (await terminate(tree, options))) return
  tree.cgroup?.forbidForks()
  const kill = (pids: number[]) => pids.forEach((pid) => signal(pid, 'SIGKILL'))
  if (await isEmptyWithin(tree, KILL_MS, kill)) return
  throw new Error(`Processes ${programsOf(tree).join(', ')} of ${tree.mark} could not be killed`)
}

const KILL_MS = 30_000

/** Sends SIGTERM once to each process, including those started in the meantime (a sandbox during setup loses the signal). */
function terminate(tree: ProgramTree, { graceMs, spare }: { graceMs: number; spare: number | null }): Promise<boolean> {
  const signalled = new Set([spare])
  return isEmptyWithin(tree, graceMs, (pids) => {
    for (const pid of pids.filter((pid) => !signalled.has(pid))) {
      signal(pid, 'SIGTERM')
      signalled.add(pid)
    }
  })
}

async function isEmptyWithin(tree: ProgramTree, ms: number, act: (pids: number[]) => void): Promise<boolean> {
  const deadline = Date.now() + ms
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 2, 50)) {
    const pids = programsOf(tree)
    if (pids.length === 0 && (tree.isOver?.() ?? true)) return true
    if (Date.now() >= deadline) return false
    act(pids)
    await sleep(pauseMs)
  }
}
