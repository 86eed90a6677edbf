import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'

/** A command of the operator: the server's settings, the words of the command, and its standard input. */
export type OperatorRequest = { settings: Record<string, string>; words: string[]; input: string }
export type OperatorResponse = { result: unknown } | { error: string }

/** Commands that `operator-process.ts` can run. */
const fastCommands = ['user add', 'user set-operator', 'token add', 'org add', 'org set-status']

/** Returns whether the process of `startOperator` can run the command. */
export const isFastCommand = (words: readonly string[]): boolean => fastCommands.includes(words.slice(0, 2).join(' '))

/**
 * Starts a process that runs commands of the operator for all tests, on any installation. Each process of `shoal` would first load the
 * server, which takes three seconds of a core; tests run about two hundred commands. It listens on a Unix socket at `path`.
 *
 * @returns a function that ends the process
 * @throws Error if the process does not start
 */
export async function startOperator(path: string, env: NodeJS.ProcessEnv): Promise<() => Promise<void>> {
  const child = fork(join(import.meta.dirname, 'operator-process.ts'), [path], { env, execArgv: [] })
  const exited = once(child, 'exit')
  const isReady = await Promise.race([once(child, 'message').then(() => true), exited.then(() => false)])
  if (!isReady) throw new Error('The process for commands of tests did not start')
  // The process ends when this one does, and does not keep it running.
  child.unref()
  child.channel?.unref()
  return async () => {
    child.ref()
    child.kill('SIGKILL')
    await exited
  }
}

/** Runs a command in the process that listens at `path`, and returns its result. @throws Error with the message of the command */
export async function runInOperator<T>(path: string, request: OperatorRequest): Promise<T> {
  const socket = connect(path)
  socket.end(JSON.stringify(request))
  const response = (await json(socket)) as OperatorResponse
  if ('error' in response) throw new Error(response.error)
  return response.result as T
}
