import { spawn } from 'node:child_process'
import { join, resolve } from 'node:path'
import { serverArguments } from '../../scripts/server.ts'
import { freePort } from './free-port.ts'
import { hostEnvironment } from './shoal.ts'
import { until } from './until.ts'

const root = join(import.meta.dirname, '../..')

/** One server process of an installation, with any roles. */
export type ServerProcess = {
  pid: number
  /** The URL of the console and the API. */
  url: string
  gatewayUrl: string
  /** The server's output so far. */
  output: () => string
  /** Resolves with the exit code, or with 128 if a signal ended the process. */
  ended: Promise<number>
  /** Waits until the server reports that it is ready. @throws with its output if it ends before */
  ready: () => Promise<void>
  signal: (name: NodeJS.Signals) => void
  /** Sends SIGTERM and returns the exit code. */
  stop: () => Promise<number>
}

/**
 * Starts a server with only these settings, free ports and the sim runtime.
 * @param file the script to run instead of the server's, such as scripts/dev.ts
 * @param prefix a command that replaces its process with the command that follows it
 */
export async function startProcess(
  env: Record<string, string>,
  file?: string,
  prefix: string[] = [],
): Promise<ServerProcess> {
  const [port, gatewayPort] = [await freePort(), await freePort()]
  const settings = {
    ...hostEnvironment(),
    SHOAL_PORT: String(port),
    SHOAL_GATEWAY_PORT: String(gatewayPort),
    SHOAL_RUNTIME: 'sim',
    ...env,
  }
  const [program = '', ...args] = [...prefix, process.execPath, ...(file ? [resolve(root, file)] : serverArguments)]
  const child = spawn(program, args, {
    cwd: root,
    env: settings,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = new Promise<number>((done) => child.once('close', (code, signal) => done(code ?? (signal ? 128 : 1))))
  return {
    pid: child.pid ?? 0,
    url: `http://127.0.0.1:${settings.SHOAL_PORT}`,
    gatewayUrl: `http://127.0.0.1:${settings.SHOAL_GATEWAY_PORT}`,
    output: () => output,
    ended,
    ready: async () => {
      await until(
        () => {
          if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the server ended:\n${output}`)
          return output.includes('Shoal is ready')
        },
        'the server reports that it is ready',
        120_000,
      )
    },
    signal: (name) => void child.kill(name),
    stop: () => {
      child.kill('SIGTERM')
      return ended
    },
  }
}
