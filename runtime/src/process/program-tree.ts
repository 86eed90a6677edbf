import { setTimeout as sleep } from 'node:timers/promises'
import type { Cgroup } from './cgroup.ts'
import { markOf } from './launch-script.ts'
import { type ProcessInfo, listProcesses, signal, startEnvironment } from './processes.ts'

/** All programs of one container or build, however deep and however detached. */
export type ProgramTree = {
  /** What the programs are marked with, see `markProgram`; no other server on this host uses it. */
  mark: string
  cgroup: Cgroup | null
  /** What we started, when that is known. */
  root: Pick<ProcessInfo, 'pid' | 'startedAt'> | null
  /** True when the root only watches: it is left to tell how the programs ended. */
  isRootSpared?: boolean
  /** False as long as programs may still appear: the root has started one that has not joined the cgroup yet. */
  isOver?: () => boolean
}

/**
 * The pids of the tree. A cgroup knows them exactly. Without one: the root, its session, and whoever carries the mark, each
 * with all their children.
 */
function programsOf(tree: ProgramTree): number[] {
  if (tree.cgroup) return tree.cgroup.processes()
  return treeOf(tree, listProcesses()).map(({ pid }) => pid)
}

/** Those of `all` that belong to the tree. */
export function treeOf({ mark, root, isRootSpared }: ProgramTree, all: ProcessInfo[]): ProcessInfo[] {
  const children = Map.groupBy(all, ({ parent }) => parent)
  const holder = all.find(({ pid }) => pid === root?.pid)
  // A later process with the same number, and its session, are none of ours.
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
 * Ends every program of the tree: SIGTERM, then SIGKILL to what is left after the grace, until nothing is.
 * `spare` gets no SIGTERM: bwrap would take the whole sandbox down with it at once.
 * @throws when something does not even die of SIGKILL (it hangs in the kernel)
 */
export async function endPrograms(
  tree: ProgramTree,
  options: { graceMs: number; spare: number | null },
): Promise<void> {
  if (options.graceMs > 0 && (await endGently(tree, options))) return
  tree.cgroup?.forbidForks()
  const kill = (pids: number[]) => pids.forEach((pid) => signal(pid, 'SIGKILL'))
  if (await isEmptyWithin(tree, KILL_MS, kill)) return
  throw new Error(`Processes ${programsOf(tree).join(', ')} of ${tree.mark} do not end`)
}

const KILL_MS = 30_000

/** Each process is asked once, those too that were started meanwhile (a sandbox still being set up loses the signal). */
function endGently(tree: ProgramTree, { graceMs, spare }: { graceMs: number; spare: number | null }): Promise<boolean> {
  const asked = new Set([spare])
  return isEmptyWithin(tree, graceMs, (pids) => {
    for (const pid of pids.filter((pid) => !asked.has(pid))) {
      signal(pid, 'SIGTERM')
      asked.add(pid)
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
