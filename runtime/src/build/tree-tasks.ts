import { Worker } from 'node:worker_threads'
import { BuildFailure, type BuildFailureKind, type UnpackLimits } from '../builder.ts'
import type { CloneOptions } from './clone-tree.ts'

/** An operation on a whole tree, which may have tens of thousands of files. */
export type TreeTask =
  | { kind: 'clone'; from: string; to: string; options: CloneOptions }
  | { kind: 'changeOwner'; root: string; uid: number }
  | { kind: 'seal'; root: string; uid: number | null }
  | { kind: 'measure'; root: string }
  | { kind: 'unpackDependencies'; file: string; to: string; limits: UnpackLimits }
  | { kind: 'remove'; path: string }

/** The result of the task `id`. `bytes`: what `sealTree`, `measureTree` or `unpackDependencies` returned; 0 for other tasks. */
export type TreeResult =
  | { id: number; bytes: number }
  | { id: number; failure: { kind: BuildFailureKind; message: string } }
  | { id: number; error: { message: string; code: string | undefined } }

/**
 * Runs tree operations on a separate thread, with synchronous calls: they take a third of the time of asynchronous ones, but would
 * block the server's thread. The thread stops after a minute without work.
 */
export class TreeTasks {
  #worker: Worker | null = null
  #pending = new Map<number, PromiseWithResolvers<number>>()
  #nextId = 1
  #idleTimer: NodeJS.Timeout | null = null

  async clone(from: string, to: string, options: CloneOptions): Promise<void> {
    await this.#run({ kind: 'clone', from, to, options })
  }

  /** See `changeOwner` of `clone-tree.ts`. */
  async changeOwner(root: string, uid: number): Promise<void> {
    await this.#run({ kind: 'changeOwner', root, uid })
  }

  /** See `sealTree`. Resolves with the total size of the files in bytes. */
  seal(root: string, uid: number | null): Promise<number> {
    return this.#run({ kind: 'seal', root, uid })
  }

  /** See `measureTree`. */
  measure(root: string): Promise<number> {
    return this.#run({ kind: 'measure', root })
  }

  /** See `unpackDependencies`. Resolves with the size of the production dependencies in bytes. */
  unpackDependencies(file: string, to: string, limits: UnpackLimits): Promise<number> {
    return this.#run({ kind: 'unpackDependencies', file, to, limits })
  }

  async remove(path: string): Promise<void> {
    await this.#run({ kind: 'remove', path })
  }

  #run(task: TreeTask): Promise<number> {
    const worker = this.#ensureWorker()
    const id = this.#nextId
    this.#nextId += 1
    const pending = Promise.withResolvers<number>()
    this.#pending.set(id, pending)
    worker.ref()
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker.postMessage({ id, task })
    return pending.promise
  }

  #ensureWorker(): Worker {
    if (this.#idleTimer !== null) {
      clearTimeout(this.#idleTimer)
    }
    this.#worker ??= this.#startWorker()
    return this.#worker
  }

  #startWorker(): Worker {
    const worker = new Worker(new URL('./tree-worker.ts', import.meta.url), { execArgv: [] })
    worker.on('message', (result: TreeResult) => this.#settle(worker, result))
    worker.on('error', (error) => {
      this.#worker = null
      this.#pending.forEach(({ reject }) => reject(error))
      this.#pending.clear()
    })
    return worker
  }

  #settle(worker: Worker, result: TreeResult): void {
    const pending = this.#pending.get(result.id)
    this.#pending.delete(result.id)
    if ('bytes' in result) {
      pending?.resolve(result.bytes)
    } else if ('failure' in result) {
      pending?.reject(new BuildFailure(result.failure.kind, result.failure.message))
    } else {
      pending?.reject(Object.assign(new Error(result.error.message), { code: result.error.code }))
    }
    if (this.#pending.size === 0) {
      worker.unref()
      this.#idleTimer = setTimeout(() => this.#stop(), IDLE_MS).unref()
    }
  }

  #stop(): void {
    void this.#worker?.terminate()
    this.#worker = null
  }
}

const IDLE_MS = 60_000
