import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { serverOptions } from '../../../server.ts'
import type { Command, Commands, Reply } from './driver-main.ts'

type ResultOf<Name extends keyof Commands> = Awaited<ReturnType<Commands[Name]>>

/** A process with the Kubernetes driver, with the same options of Node as the server. It ends with this process, even if it is killed. */
export class DriverProcess {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, (reply: Reply) => void>()
  #lastId = 0

  constructor(kubeconfig: string) {
    this.#child = fork(join(import.meta.dirname, 'driver-main.ts'), [kubeconfig], {
      execArgv: serverOptions,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.#child.on('message', (reply: Reply) => this.#waiting.get(reply.id)?.(reply))
    this.#child.once('exit', () => {
      for (const [id, done] of this.#waiting) done({ id, error: 'The process of the driver ended' })
    })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Runs a command in the process. @throws with the message of its error, or if the process ends */
  async call<Name extends keyof Commands>(name: Name, ...args: Parameters<Commands[Name]>): Promise<ResultOf<Name>> {
    const id = ++this.#lastId
    const command: Command = { id, name, args }
    const reply = await new Promise<Reply>((resolve) => {
      this.#waiting.set(id, resolve)
      this.#child.send(command, (error) => error && resolve({ id, error: error.message }))
    })
    this.#waiting.delete(id)
    if (reply.error !== undefined) throw new Error(reply.error)
    return reply.result as ResultOf<Name>
  }

  /** Kills the process, as a crash would. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.kill('SIGKILL')
    await ended
  }
}
