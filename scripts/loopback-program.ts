import { spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'

/** A server for tests that listens on loopback. */
export type LoopbackProgram = {
  /** Repeats `attempt` until it resolves. @throws Error with the output of the program if it ends before */
  waitUntilReady: (attempt: () => Promise<unknown>) => Promise<void>
  /** Kills the program, and waits for its end. */
  stop: () => Promise<void>
}

/** Starts a program in a folder, with only these environment variables. */
export function startLoopbackProgram(
  file: string,
  args: string[],
  options: { cwd: string; env: Record<string, string> },
): LoopbackProgram {
  const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = new Promise<void>((done) => child.once('exit', () => done()))
  return {
    async waitUntilReady(attempt) {
      const isReady = () =>
        attempt().then(
          () => true,
          () => false,
        )
      while (!(await isReady())) {
        if (child.exitCode !== null) throw new Error(`${file} ended with ${child.exitCode}:\n${output}`)
        await delay(20)
      }
    },
    async stop() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
