import { spawn, type ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { startExternalPostgres, type ExternalPostgres } from '../../scripts/external-postgres.ts'
import { serverArguments } from '../../scripts/server.ts'
import { freePort, hostEnvironment, makeDataDir, repositoryRoot, runCli } from './shoal.ts'
import { until } from './until.ts'

export type Role = 'api' | 'worker' | 'gateway'

/** One server process with one role. */
export type RoleProcess = {
  /** Such as `gateway-2`. */
  name: string
  role: Role
  /** The port of its role; for a worker, of its health endpoints. */
  port: number
  healthUrl: string
  output: () => string
  pid: () => number
  start: () => Promise<void>
  /** Returns the exit code, null if a signal ended it. */
  end: (signal: 'SIGTERM' | 'SIGKILL') => Promise<number | null>
}

export type Installation = {
  postgres: ExternalPostgres
  dataDir: string
  processes: RoleProcess[]
  of: (role: Role) => RoleProcess[]
  cli: <T = Record<string, unknown>>(...args: string[]) => Promise<T>
  end: () => Promise<void>
}

/** Several processes of each role on one host, with one data directory and an external Postgres. */
export async function startInstallation(
  counts: Record<Role, number>,
  env: Record<string, string> = {},
): Promise<Installation> {
  const postgres = await startExternalPostgres()
  const dataDir = makeDataDir()
  const settings = {
    ...hostEnvironment(),
    DATABASE_URL: postgres.url('shoal'),
    SHOAL_DATA_DIR: dataDir,
    SHOAL_ON_EXIT: 'keep',
    ...env,
  }
  const roles = (Object.keys(counts) as Role[]).flatMap((role) =>
    Array.from({ length: counts[role] }, (_, index) => ({ role, name: `${role}-${index + 1}` })),
  )
  const processes = await Promise.all(roles.map(({ role, name }) => describeProcess(role, name, settings)))
  const end = async () => {
    // The last worker stops the squids.
    for (const process of processes.filter(({ role }) => role !== 'worker')) await process.end('SIGTERM')
    for (const process of processes.filter(({ role }) => role === 'worker')) await process.end('SIGTERM')
    await postgres.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
  try {
    await Promise.all(processes.map((process) => process.start()))
  } catch (error) {
    await end()
    throw error
  }
  return {
    postgres,
    dataDir,
    processes,
    of: (role) => processes.filter((process) => process.role === role),
    cli: (...args) => runCli(settings, args),
    end,
  }
}

async function describeProcess(role: Role, name: string, settings: Record<string, string>): Promise<RoleProcess> {
  const [port, healthPort] = [await freePort(), await freePort()]
  const healthUrl = `http://127.0.0.1:${healthPort}`
  let child: ChildProcess | null = null
  let output = ''
  const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null
  const start = async () => {
    const started = spawn(process.execPath, serverArguments, {
      cwd: repositoryRoot,
      env: {
        ...settings,
        SHOAL_ROLES: role,
        SHOAL_PORT: String(role === 'api' ? port : 1),
        SHOAL_GATEWAY_PORT: String(role === 'gateway' ? port : 1),
        SHOAL_HEALTH_PORT: String(healthPort),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child = started
    for (const stream of [started.stdout, started.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    await until(
      async () => {
        if (hasEnded(started)) throw new Error(`${name} ended with ${started.exitCode}:\n${output.slice(-4000)}`)
        return (await fetch(`${healthUrl}/readyz`).catch(() => null))?.ok === true
      },
      `${name} is ready`,
      120_000,
    )
  }
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    if (!child) return null
    const ending = child
    if (!hasEnded(ending)) {
      const ended = new Promise((done) => ending.once('exit', done))
      ending.kill(signal)
      await ended
    }
    return ending.exitCode
  }
  return { name, role, port, healthUrl, output: () => output, pid: () => child?.pid ?? 0, start, end }
}
