import { Worker } from 'node:worker_threads'
import { BuildFailure, type BuildFailureKind } from '../builder.ts'
import type { CloneOptions } from './clone-tree.ts'

/** Operations on whole trees. A dependency tree has tens of thousands of files. */
export type TreeTask =
  | { kind: 'clone'; from: string; to: string; options: CloneOptions }
  | { kind: 'seal'; root: string; uid: number | null }
  | { kind: 'remove'; path: string }

export type TreeAnswer =
  | { id: number; bytes: number }
  | { id: number; failure: { kind: BuildFailureKind; message: string } }
  | { id: number; error: { message: string; code: string | undefined } }

/**
 * Runs tree operations on a separate thread with synchronous calls, measured at a third of the cost of promises, without blocking the
 * server. The thread stops after a minute without work.
 */
export class TreeTasks {
  #worker: Worker | null = null
  #waiting = new Map<number, PromiseWithResolvers<number>>()
  #nextId = 1
  #idleTimer: NodeJS.Timeout | null = null

  async clone(from: string, to: string, options: CloneOptions): Promise<void> {
    await this.#run({ kind: 'clone', from, to, options })
  }

  /** Resolves with the bytes in the tree; see `sealTree`. */
  seal(root: string, uid: number | null): Promise<number> {
    return this.#run({ kind: 'seal', root, uid })
  }

  async remove(path: string): Promise<void> {
    await this.#run({ kind: 'remove', path })
  }

  #run(task: TreeTask): Promise<number> {
    const worker = this.#ensureWorker()
    const id = this.#nextId
    this.#nextId += 1
    const waiting = Promise.withResolvers<number>()
    this.#waiting.set(id, waiting)
    worker.ref()
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker.postMessage({ id, task })
    return waiting.promise
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
    worker.on('message', (answer: TreeAnswer) => this.#settle(worker, answer))
    worker.on('error', (error) => {
      this.#worker = null
      this.#waiting.forEach(({ reject }) => reject(error))
      this.#waiting.clear()
    })
    return worker
  }

  #settle(worker: Worker, answer: TreeAnswer): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if ('bytes' in answer) {
      waiting?.resolve(answer.bytes)
    } else if ('failure' in answer) {
      waiting?.reject(new BuildFailure(answer.failure.kind, answer.failure.message))
    } else {
      waiting?.reject(Object.assign(new Error(answer.error.message), { code: answer.error.code }))
    }
    if (this.#waiting.size === 0) {
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
