import { setTimeout as sleep } from 'node:timers/promises'
import type { Cgroup } from './cgroup.ts'
import { markOf } from './launch-script.ts'
import { type ProcessInfo, listProcesses, signal, initialEnvironment } from './processes.ts'

/** All processes of one container or build, including detached ones. */
export type ProgramTree = {
  /** The mark of the programs (see `markProgram`), unique among the servers of this host. */
  mark: string
  cgroup: Cgroup | null
  /** The process started by the driver, if known. */
  root: Pick<ProcessInfo, 'pid' | 'startedAt'> | null
  /** True when the root is a shim, which must not be killed, so that it can record the exit. */
  keepsRoot?: boolean
  /** Returns false while the root may have started a program that has not joined the cgroup yet. */
  hasRootEnded?: () => boolean
}

/**
 * Returns the pids of the tree. A cgroup lists them exactly. Without one, the tree consists of the root, its session, and processes
 * with the mark, each with all descendants.
 */
function programsOf(tree: ProgramTree): number[] {
  if (tree.cgroup) return tree.cgroup.processes()
  return processesOfTree(tree, listProcesses()).map(({ pid }) => pid)
}

/** Returns the processes in `allProcesses` that belong to the tree. */
export function processesOfTree({ mark, root, keepsRoot }: ProgramTree, allProcesses: ProcessInfo[]): ProcessInfo[] {
  const children = Map.groupBy(allProcesses, ({ parent }) => parent)
  const rootProcess = allProcesses.find(({ pid }) => pid === root?.pid)
  // The pid may have been reused by an unrelated process.
  const rootPid = rootProcess && rootProcess.startedAt !== root?.startedAt ? null : root?.pid
  const belongsToTree = (info: ProcessInfo) =>
    info.pid === rootPid || info.session === rootPid || markOf(initialEnvironment(info.pid)) === mark
  const members = new Map<number, ProcessInfo>()
  const add = (info: ProcessInfo) => {
    if (members.has(info.pid) || info.pid === process.pid) return
    members.set(info.pid, info)
    children.get(info.pid)?.forEach(add)
  }
  allProcesses.filter(belongsToTree).forEach(add)
  if (keepsRoot && root) members.delete(root.pid)
  return [...members.values()]
}

/**
 * Stops every program of the tree: sends SIGTERM, and after the grace period SIGKILL until none remains.
 * `exceptPid` gets no SIGTERM: bwrap would kill the whole sandbox immediately.
 * @throws when a process survives SIGKILL (it hangs in the kernel)
 */
export async function endPrograms(
  tree: ProgramTree,
  options: { graceMs: number; exceptPid: number | null },
): Promise<void> {
  if (options.graceMs > 0 && (await terminate(tree, options))) return
  tree.cgroup?.forbidForks()
  const kill = (pids: number[]) => pids.forEach((pid) => signal(pid, 'SIGKILL'))
  if (await isEmptyWithin(tree, KILL_MS, kill)) return
  throw new Error(`Processes ${programsOf(tree).join(', ')} of ${tree.mark} could not be killed`)
}

const KILL_MS = 30_000

/**
 * Sends SIGTERM once to each process, including processes that start during the grace period: a sandbox that is still being set up
 * loses the signal. Resolves with whether all processes have ended in time.
 */
function terminate(
  tree: ProgramTree,
  { graceMs, exceptPid }: { graceMs: number; exceptPid: number | null },
): Promise<boolean> {
  const signalled = new Set([exceptPid])
  return isEmptyWithin(tree, graceMs, (pids) => {
    for (const pid of pids.filter((pid) => !signalled.has(pid))) {
      signal(pid, 'SIGTERM')
      signalled.add(pid)
    }
  })
}

async function isEmptyWithin(tree: ProgramTree, ms: number, signalAll: (pids: number[]) => void): Promise<boolean> {
  const deadline = Date.now() + ms
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 2, 50)) {
    const pids = programsOf(tree)
    if (pids.length === 0 && (tree.hasRootEnded?.() ?? true)) return true
    if (Date.now() >= deadline) return false
    signalAll(pids)
    await sleep(pauseMs)
  }
}
