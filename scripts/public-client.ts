import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { runCommand } from './command.ts'
import { withProgress } from './progress.ts'
import { root } from './root.ts'

const version = '3.2.3'

/** joi is pinned, because the client does not start if two versions of joi are installed. */
const packages = [`@subsquid/cli@${version}`, 'joi@17.13.3']

type ClientResult = { stdout: string; stderr: string; code: number }

/** A running command of the client, such as `logs -f`. */
type RunningClient = {
  /** Returns the output so far. */
  output(): string
  stop(): Promise<void>
}

export type PublicClient = {
  /** Runs `sqd` with these arguments to its end, without a terminal, so that it shows no prompts. */
  (...args: string[]): Promise<ClientResult>
  start(...args: string[]): RunningClient
  /**
   * Like `start`, but in a terminal, as users run the client. Without a terminal, the client prints the output of a deployment's
   * step only when the step ends. Requires the program `script`, which is part of every Debian.
   */
  startInTerminal(...args: string[]): RunningClient
  /** Removes the client's home, which contains its credentials. */
  close(): void
}

/**
 * Opens the unmodified public client with its own home, signed out. The first use on a machine installs it.
 * `onOutput` receives the output of all commands as it is printed.
 */
export async function openClient(onOutput?: (text: string) => void): Promise<PublicClient> {
  const program = await installClient()
  const home = mkdtempSync(join(tmpdir(), 'shoal-sqd-'))
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    // Despite its name, this variable contains the path of a file.
    SUBSQUID_CLI_CONFIG_DIR: join(home, 'config.json'),
    SQD_SKIP_NEW_VERSION_CHECK: 'true',
    // With the cache, each process of the client starts with a third less CPU time.
    ...(process.env['NODE_COMPILE_CACHE'] && { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }),
  }
  const spawnClient = (args: string[], wrap: (command: string[]) => string[] = (command) => command) => {
    const [file = '', ...fileArgs] = wrap([process.execPath, program, ...args])
    const child = spawn(file, fileArgs, { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8')
      if (onOutput) stream.on('data', onOutput)
    }
    return child
  }
  const run = async (...args: string[]) => {
    const child = spawnClient(args)
    const [stdout, stderr] = [collect(child, 'stdout'), collect(child, 'stderr')]
    const code = await exitCodeOf(child)
    return { stdout: stdout(), stderr: stderr(), code }
  }
  const follow = (child: ChildProcess): RunningClient => {
    const [stdout, stderr] = [collect(child, 'stdout'), collect(child, 'stderr')]
    const stop = async () => {
      child.kill('SIGKILL')
      await exitCodeOf(child)
    }
    return { output: () => stripVTControlCharacters(stdout() + stderr()), stop }
  }
  const start = (...args: string[]) => follow(spawnClient(args))
  const startInTerminal = (...args: string[]) => follow(spawnClient(args, inTerminal))
  return Object.assign(run, { start, startInTerminal, close: () => rmSync(home, { recursive: true, force: true }) })
}

/** Returns a command that runs the given one in a terminal of `script`. When `script` ends, its terminal closes, and SIGHUP ends the command. */
const inTerminal = (command: string[]): string[] => [
  'script',
  '--quiet',
  '--flush',
  '--command',
  `exec ${command.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ')}`,
  '/dev/null',
]

/** Installs the client if necessary, and returns the path of its program. A process never uses a partial installation, because it is made in a temporary folder. */
export async function installClient(): Promise<string> {
  const folder = join(root, `node_modules/.cache/sqd-${version}`)
  const program = 'node_modules/@subsquid/cli/bin/run.js'
  if (existsSync(join(folder, program))) return join(folder, program)
  await withProgress('Installing the public client', () => install(folder))
  return join(folder, program)
}

async function install(folder: string): Promise<void> {
  mkdirSync(dirname(folder), { recursive: true })
  const staging = mkdtempSync(`${folder}-`)
  try {
    writeFileSync(join(staging, 'package.json'), '{ "private": true }\n')
    const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', ...packages]
    const { code, output } = await runCommand('npm', args, { cwd: staging })
    if (code !== 0) throw new Error(`npm could not install the public client:\n${output.slice(-3000)}`)
    if (!existsSync(folder)) renameSync(staging, folder)
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

function collect(child: ChildProcess, stream: 'stdout' | 'stderr'): () => string {
  let text = ''
  child[stream]?.on('data', (chunk: string) => {
    text += chunk
  })
  return () => text
}

async function exitCodeOf(child: ChildProcess): Promise<number> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode ?? 1
  return await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 1))
  })
}
