import { spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'

/** A program that serves tests on loopback. */
export type LoopbackProgram = {
  /** Waits until `attempt` resolves. @throws Error with the output of the program if it ends before */
  responds: (attempt: () => Promise<unknown>) => Promise<void>
  /** Kills it, and waits for its end. */
  stop: () => Promise<void>
}

/** Starts a program in a folder with exactly these variables. */
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
    async responds(attempt) {
      const isAnswered = () =>
        attempt().then(
          () => true,
          () => false,
        )
      while (!(await isAnswered())) {
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
