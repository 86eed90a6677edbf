import { setTimeout as sleep } from 'node:timers/promises'
import type { Cgroup } from './cgroup.ts'
import type { Program } from './launch-script.ts'
import { type ProcessInfo, listProcesses, signal, startEnvironment } from './processes.ts'

/** All programs of one container or build, however deep and however detached. */
export type ProgramTree = {
  /** Marks the programs, see `markProgram`. */
  name: string
  cgroup: Cgroup | null
  /** What we started, when that is known. */
  root: Pick<ProcessInfo, 'pid' | 'startedAt'> | null
  /** True when the root only watches: it is left to tell how the programs ended. */
  isRootSpared?: boolean
}

const MARKER = 'SHOAL_BOX='

/** The program with its mark in the environment, by which it is found where there are no cgroups. */
export function markProgram(program: Program, name: string): Program {
  return { ...program, env: { ...program.env, SHOAL_BOX: name } }
}

/** The box that a variable of a process's environment names. */
export function markedName(variable: string): string | null {
  return variable.startsWith(MARKER) ? variable.slice(MARKER.length) : null
}

/**
 * The pids of the tree. A cgroup knows them exactly. Without one: the root, its session, and whoever carries the mark, each
 * with all their children.
 */
export function programsOf(tree: ProgramTree): number[] {
  if (tree.cgroup) return tree.cgroup.processes()
  return treeOf(tree, listProcesses()).map(({ pid }) => pid)
}

/** Those of `all` that belong to the tree. */
export function treeOf({ name, root, isRootSpared }: ProgramTree, all: ProcessInfo[]): ProcessInfo[] {
  const children = Map.groupBy(all, ({ parent }) => parent)
  const holder = all.find(({ pid }) => pid === root?.pid)
  // A later process with the same number, and its session, are none of ours.
  const rootPid = holder && holder.startedAt !== root?.startedAt ? null : root?.pid
  const isOurs = (info: ProcessInfo) =>
    info.pid === rootPid || info.session === rootPid || startEnvironment(info.pid).includes(MARKER + name)
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
  if (options.graceMs > 0) {
    const spared = (pid: number) => pid === options.spare
    for (const pid of programsOf(tree)) if (!spared(pid)) signal(pid, 'SIGTERM')
    if (await isEmptyWithin(tree, options.graceMs)) return
  }
  tree.cgroup?.forbidForks()
  for (let attempt = 0; attempt < 300; attempt++) {
    for (const pid of programsOf(tree)) signal(pid, 'SIGKILL')
    if (await isEmptyWithin(tree, 100)) return
  }
  throw new Error(`Processes ${programsOf(tree).join(', ')} of ${tree.name} do not end`)
}

async function isEmptyWithin(tree: ProgramTree, ms: number): Promise<boolean> {
  const deadline = Date.now() + ms
  for (let pauseMs = 5; programsOf(tree).length > 0; pauseMs = Math.min(pauseMs * 2, 50)) {
    if (Date.now() >= deadline) return false
    await sleep(pauseMs)
  }
  return true
}
