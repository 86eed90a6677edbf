import { fork, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import type { SimBehaviour } from '../behaviour.ts'

/** A program whose server runs in another process. */
export type SeparateProgram = Pick<SimBehaviour, 'response' | 'sync'> & { path: string; startedAtMs: number }
export type SeparateMessage = { open: SeparateProgram } | { close: string }

/** Each program needs a file descriptor, and hosts limit those of a process. */
const maxProgramsPerProcess = 5_000

/**
 * The servers of simulated programs in separate processes, so that measurements of the server do not include them. They use the time
 * of the system, and end with this process.
 */
export class SeparateListeners {
  readonly #processes: ChildProcess[] = []
  readonly #processOf = new Map<string, ChildProcess>()

  /** Starts to listen for a program; connections are refused until the other process does. */
  open({ path, startedAtMs, response, sync }: SeparateProgram): void {
    if (this.#processOf.size >= maxProgramsPerProcess * this.#processes.length) this.#processes.push(start())
    const child = this.#processes.at(-1)
    if (!child?.connected) return
    this.#processOf.set(path, child)
    child.send({ open: { path, startedAtMs, ...(response && { response }), ...(sync && { sync }) } })
  }

  close(path: string): void {
    const child = this.#processOf.get(path)
    if (child?.connected) child.send({ close: path })
    this.#processOf.delete(path)
  }

  closeAll(): void {
    for (const child of this.#processes.splice(0)) if (child.connected) child.disconnect()
    this.#processOf.clear()
  }
}

function start(): ChildProcess {
  const child = fork(join(import.meta.dirname, 'separate-listeners-main.ts'), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  child.unref()
  child.channel?.unref()
  return child
}
