import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { contract, createClient, type Client, type Contract } from '@shoal/contract'
import { isFastCommand, runInOperator } from '../../scripts/operator.ts'
import { serverArguments } from '../../scripts/server.ts'
import { freePort } from './free-port.ts'
import { findPostmaster } from './postgres.ts'
import { until } from './until.ts'

export const repositoryRoot = join(import.meta.dirname, '../..')
const run = promisify(execFile)

export type Shoal = {
  url: string
  gatewayUrl: string
  dataDir: string
  /** The server's settings, as environment variables. */
  settings: Record<string, string>
  /** The URL, with its key, of the page that shows emails (/outbox), as the server printed it at its last start; null without SHOAL_OUTBOX. */
  readonly outboxUrl: string | null
  /** The server's output so far. */
  output: () => string
  /** Returns the sentence of the server's log about the sandbox, the limits and the OS users with which squids run; empty with the sim runtime. */
  isolationSummary: () => string
  /** Runs a command of the operator (`shoal …`), and returns its JSON output. @throws if it fails */
  cli: <T = Record<string, unknown>>(...args: CliArguments) => Promise<T>
  /** Returns an API client that sends this token, or none if it is empty. */
  as: (token: string) => Client<Contract>
  /** Sends SIGKILL to the server only: its child processes keep running. */
  kill: () => Promise<void>
  /** Starts the server again on the same data, with its `settings`, which the test may have changed. */
  start: () => Promise<void>
  /** Sends SIGTERM, and checks that the server exits with 0. Keeps its data. */
  stop: () => Promise<void>
  /** Sends SIGTERM, checks that the server exits with 0, and removes its data. */
  end: () => Promise<void>
}

/** The words of a command, and optionally the text of its standard input. */
export type CliArguments = (string | { input: string })[]

/** Separates the words of a command from the text of its standard input. */
export function splitInput(args: CliArguments): { words: string[]; input: string } {
  const last = args.at(-1)
  return {
    words: args.filter((arg) => typeof arg === 'string'),
    input: typeof last === 'object' ? last.input : '',
  }
}

/** The parts of `Shoal` for tests that share a server, and neither start nor end it. */
export type RunningShoal = Pick<Shoal, 'url' | 'gatewayUrl' | 'outboxUrl' | 'cli' | 'as'>

/** What a test needs to use a running server. */
export type ShoalConnection = Pick<Shoal, 'url' | 'gatewayUrl' | 'outboxUrl' | 'settings'>

/** Returns the API client and the CLI for a running server. */
export const connectToShoal = ({ url, gatewayUrl, outboxUrl, settings }: ShoalConnection): RunningShoal => ({
  url,
  gatewayUrl,
  outboxUrl,
  cli: (...args) => runCli({ ...hostEnvironment(), ...settings }, args),
  as: (token) => createClient(contract, { baseUrl: `${url}/api`, token: () => token }),
})

/** Creates a data directory for a test server. The server's `end` removes it. */
export const makeDataDir = (): string => mkdtempSync(join(tmpdir(), 'shoal-e2e-'))

/** Creates a data directory. If `npm test` has made a Postgres cluster with Shoal's tables, copies it there, so that the server starts faster. */
export function makeReadyDataDir(): string {
  const dataDir = makeDataDir()
  const template = process.env['SHOAL_TEST_DATA']
  if (template && existsSync(template)) execFileSync('cp', ['-a', `${template}/.`, dataDir])
  return dataDir
}

/** A user that runs a server. `prefix`: the words before a command that run it as this user, such as `setpriv` with its options. `takeOver` makes the user the owner of a directory. */
export type ServerUser = { prefix: string[]; takeOver: (dir: string) => void }

/**
 * Starts a real server as a separate process and waits until it is ready. By default, it runs as the user of the tests on a new data
 * directory. Squids stop when the server ends (SHOAL_ON_EXIT=stop), but not after `kill`.
 * @throws with its output if the server does not start, after stopping its Postgres
 */
export async function startShoal(
  env: Record<string, string> = {},
  existingDataDir?: string,
  user?: ServerUser,
): Promise<Shoal> {
  const dataDir = existingDataDir ?? (user ? makeDataDir() : makeReadyDataDir())
  // A short name, because the length of socket paths is limited.
  const tmpDir = join(dataDir, 't')
  // mkdirSync returns the topmost directory that it created.
  if (user) for (const dir of [dataDir, tmpDir]) user.takeOver(mkdirSync(dir, { recursive: true }) ?? dir)
  const [port, gatewayPort] = [await freePort(), await freePort()]
  const settings: Record<string, string> = {
    SHOAL_DATA_DIR: dataDir,
    SHOAL_PORT: String(port),
    SHOAL_GATEWAY_PORT: String(gatewayPort),
    SHOAL_ON_EXIT: 'stop',
    // Lets several organizations deploy even where versions share the network of the host.
    SHOAL_ALLOW_SHARED_NETWORK: 'true',
    ...env,
  }
  const url = `http://localhost:${port}`
  if (env['SHOAL_RUNTIME'] !== 'sim') linkToolchain(dataDir)
  if (user) for (const dir of directoriesIn(dataDir)) user.takeOver(dir)
  let server: ChildProcess | null = null
  let output = ''
  let outputStart = 0

  const outboxUrl = () => /http\S+\/outbox\?key=\S+/.exec(output.slice(outputStart))?.[0] ?? null

  const start = async () => {
    outputStart = output.length
    const [program = '', ...args] = [...(user?.prefix ?? []), process.execPath, ...serverArguments]
    const child = spawn(program, args, {
      cwd: repositoryRoot,
      env: { ...hostEnvironment(), ...(user && { HOME: dataDir, TMPDIR: tmpDir }), ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    server = child
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    await until(
      async () => {
        if (hasEnded(child)) throw new Error(`the server ended with ${child.exitCode ?? child.signalCode}:\n${output}`)
        const isReady = (await fetch(`${url}/readyz`).catch(() => null))?.ok === true
        return isReady && (!settings['SHOAL_OUTBOX'] || outboxUrl() !== null)
      },
      'the server is ready',
      120_000,
    ).catch(async (error: unknown) => {
      await kill()
      throw new Error(`The server did not start:\n${output}`, { cause: error })
    })
  }
  const ended = (child: ChildProcess) =>
    hasEnded(child) ? Promise.resolve() : new Promise<void>((done) => child.once('exit', () => done()))
  const kill = async () => {
    server?.kill('SIGKILL')
    if (server) await ended(server)
  }
  const terminate = async () => {
    server?.kill('SIGTERM')
    if (server) await ended(server)
    return server?.exitCode
  }
  const verifyExit = (code: number | null | undefined) => {
    if (code !== 0) throw new Error(`the server ended with ${code}:\n${output.slice(-4000)}`)
  }
  const stop = async () => verifyExit(await terminate())
  const end = async () => {
    const code = await terminate()
    await stopPostgresOf(dataDir)
    rmSync(dataDir, { recursive: true, force: true })
    verifyExit(code)
  }
  const isolationSummary = () => /Squids run with: ([^"\n]+)/.exec(output)?.[1] ?? ''
  await start().catch(async (error: unknown) => {
    await stopPostgresOf(dataDir)
    if (existingDataDir === undefined) rmSync(dataDir, { recursive: true, force: true })
    throw error
  })
  recordIsolation(env['SHOAL_SANDBOX'] ?? 'auto', isolationSummary())
  return {
    ...connectToShoal({ url, gatewayUrl: `http://localhost:${gatewayPort}`, outboxUrl: null, settings }),
    // A getter, because the key changes with each start.
    get outboxUrl() {
      return outboxUrl()
    },
    settings,
    dataDir,
    output: () => output,
    isolationSummary,
    kill,
    start,
    stop,
    end,
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null

/** Hard-links the toolchain (Node, npm and `sqd`) that `npm test` installed once, so that test servers do not download it again. */
function linkToolchain(dataDir: string): void {
  const installed = process.env['SHOAL_TEST_TOOLCHAIN']
  if (!installed || existsSync(join(dataDir, 'toolchain'))) return
  mkdirSync(dataDir, { recursive: true })
  chmodSync(dataDir, 0o755)
  execFileSync('cp', ['-al', installed, join(dataDir, 'toolchain')])
}

/** Returns a directory and all directories below it. Files are omitted, because they may be hard links. */
function directoriesIn(dir: string): string[] {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true })
  return [dir, ...entries.filter((entry) => entry.isDirectory()).map(({ parentPath, name }) => join(parentPath, name))]
}

/** Records a server's sandbox and limits. `npm test` prints them for each suite. */
function recordIsolation(sandbox: string, summary: string): void {
  const file = process.env['SHOAL_TEST_ISOLATION']
  if (file && summary) appendFileSync(file, `e2e with SHOAL_SANDBOX=${sandbox}\t${summary}\n`)
}

/** Returns a function that runs the operator's commands for a data directory, with or without a running server. */
export const cliOf =
  (dataDir: string) =>
  <T = Record<string, unknown>>(...args: CliArguments): Promise<T> =>
    runCli({ ...hostEnvironment(), SHOAL_DATA_DIR: dataDir }, args)

/** Runs a command of the operator in this environment, and returns its JSON output. @throws if it fails */
export async function runCli<T>(env: Record<string, string>, args: CliArguments): Promise<T> {
  const { words, input } = splitInput(args)
  const operator = process.env['SHOAL_TEST_OPERATOR']
  if (operator && isFastCommand(words)) return runInOperator<T>(operator, { settings: env, words, input })
  const running = run(process.execPath, [join(repositoryRoot, 'server/src/cli.ts'), ...words, '--json'], {
    cwd: repositoryRoot,
    env,
  })
  running.child.stdin?.end(input)
  return JSON.parse((await running).stdout) as T
}

/** Stops the embedded Postgres clusters that servers of this data directory left running, and waits for their end. */
export async function stopPostgresOf(dataDir: string): Promise<void> {
  for (const cluster of ['postgres', 'postgres-squids'] as const) {
    const pid = findPostmaster(dataDir, cluster)
    if (pid === null || !isAlive(pid)) continue
    process.kill(pid, 'SIGQUIT')
    await until(() => !isAlive(pid), 'Postgres has ended')
  }
}

const isAlive = (pid: number) => existsSync(`/proc/${pid}`)

/** Returns the environment of this process without Shoal's settings. */
export const hostEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([key, value]) =>
      value === undefined || key.startsWith('SHOAL_') || key === 'DATABASE_URL' ? [] : [[key, value]],
    ),
  )

/** Returns `<pid> <command line>` of every process on this host with a working folder below `dir`. */
export function processesIn(dir: string): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.flatMap((pid) => {
    try {
      const isInside = readlinkSync(`/proc/${pid}/cwd`).startsWith(dir)
      return isInside ? [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()}`] : []
    } catch {
      // The process has already ended.
      return []
    }
  })
}
