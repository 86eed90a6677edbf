import { rmSync, lstatSync, readdirSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { BuildFailure } from '../builder.ts'
import { errorCode } from '../error-code.ts'
import { cloneTree, changeOwner } from './clone-tree.ts'
import { sealTree } from './seal-tree.ts'
import { unpackDependencies } from './unpack-dependencies.ts'
import type { TreeResult, TreeTask } from './tree-tasks.ts'

/** The worker thread of `TreeTasks`. Runs one task at a time. */
parentPort?.on('message', ({ id, task }: { id: number; task: TreeTask }) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(run(id, task))
})

function run(id: number, task: TreeTask): TreeResult {
  try {
    return { id, bytes: perform(task) }
  } catch (error) {
    if (error instanceof BuildFailure) {
      return { id, failure: { kind: error.kind, message: error.message } }
    }
    return { id, error: { message: String(error), code: errorCode(error) } }
  }
}

function perform(task: TreeTask): number {
  if (task.kind === 'seal') {
    return sealTree(task.root, task.uid)
  }
  if (task.kind === 'measure') {
    return measureTree(task.root)
  }
  if (task.kind === 'unpackDependencies') {
    return unpackDependencies(task.file, task.to, task.limits)
  }
  if (task.kind === 'clone') {
    cloneTree(task.from, task.to, task.options)
  } else if (task.kind === 'changeOwner') {
    changeOwner(task.root, task.uid)
  } else {
    rmSync(task.path, { recursive: true, force: true, maxRetries: 5 })
  }
  return 0
}

/**
 * Returns the bytes that a folder uses on the disk: the blocks of its files and folders, and of each file with several links once.
 * A file without blocks counts as its size, since some file systems store small files elsewhere.
 */
function measureTree(root: string): number {
  const counted = new Set<string>()
  const measure = (path: string): number => {
    const stats = lstatSync(path)
    const bytes = Math.max(stats.blocks * 512, stats.size)
    if (stats.isDirectory())
      return readdirSync(path).reduce((total, name) => total + measure(`${path}/${name}`), stats.blocks * 512)
    if (stats.nlink === 1) return bytes
    const inode = `${stats.dev}:${stats.ino}`
    if (counted.has(inode)) return 0
    counted.add(inode)
    return bytes
  }
  return measure(root)
}
