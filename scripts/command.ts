import { spawn } from 'node:child_process'
import { root } from './root.ts'

/** `output`: what the program wrote to stdout and stderr. */
export type CommandResult = { code: number; output: string; elapsedMs: number }

type CommandOptions = {
  cwd?: string
  env?: NodeJS.ProcessEnv
  /** True: the program writes to the output of this process, and `output` stays empty. */
  inheritsOutput?: boolean
}

const running = new Set<number>()
let isEnding = false

/**
 * Runs a program to its end in a new process group, by default in the repository's folder. Kills the processes that the program leaves
 * in the group. Returns its exit code: 127 if the program does not exist, 1 if a signal ended it.
 */
export async function runCommand(file: string, args: string[], options: CommandOptions = {}): Promise<CommandResult> {
  const startedAt = performance.now()
  const { cwd = root, env = process.env, inheritsOutput = false } = options
  const destination = inheritsOutput ? 'inherit' : 'pipe'
  const child = spawn(file, args, { cwd, env, detached: true, stdio: ['ignore', destination, destination] })
  if (child.pid) running.add(child.pid)
  let captured = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      captured += text
    })
  }
  return await new Promise((resolve) => {
    const finish = (code: number) => {
      if (child.pid) running.delete(child.pid)
      // During shutdown, the caller must not continue with the next command.
      if (!isEnding) resolve({ code, output: captured, elapsedMs: performance.now() - startedAt })
    }
    child.once('error', (error) => {
      captured += error.message
      finish(127)
    })
    child.once('exit', () => child.pid && signalGroup(child.pid, 'SIGKILL'))
    child.once('close', (code) => finish(code ?? 1))
  })
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // The group is already empty.
  }
}

/** On SIGINT, SIGTERM or SIGHUP: passes the signal to all running commands, kills those that still run ten seconds later, calls `cleanUp`, and exits. */
export function endCommandsOnSignal(cleanUp: () => void = () => undefined): void {
  const end = (signal: NodeJS.Signals) => {
    // Ignores a second signal: after Ctrl-C, the terminal and npm send one each.
    if (isEnding) return
    isEnding = true
    for (const pid of running) signalGroup(pid, signal)
    const deadline = performance.now() + 10_000
    setInterval(() => {
      if (running.size > 0 && performance.now() < deadline) return
      for (const pid of running) signalGroup(pid, 'SIGKILL')
      cleanUp()
      process.exit(signal === 'SIGINT' ? 130 : 143)
    }, 50)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end)
}
