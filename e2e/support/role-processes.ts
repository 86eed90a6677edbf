import { spawn, type ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { startExternalPostgres, type ExternalPostgres } from '../../scripts/external-postgres.ts'
import { serverArguments } from '../../scripts/server.ts'
import { freePort } from './free-port.ts'
import { hostEnvironment, makeDataDir, repositoryRoot, runCli, type Shoal } from './shoal.ts'
import { until } from './until.ts'

export type Role = 'api' | 'worker' | 'gateway'

/** One server process with one role. */
export type RoleProcess = {
  /** The role with a number, such as `gateway-2`. */
  name: string
  role: Role
  dataDir: string
  /** The port of the API or the gateway; unused by a worker, which has only health endpoints. */
  port: number
  healthUrl: string
  output: () => string
  pid: () => number
  start: () => Promise<void>
  /** Ends the process, and returns its exit code; null if it was not started or the signal ended it. */
  end: (signal: 'SIGTERM' | 'SIGKILL') => Promise<number | null>
}

export type Installation = {
  postgres: ExternalPostgres
  dataDir: string
  processes: RoleProcess[]
  /** Returns the processes with this role. */
  withRole: (role: Role) => RoleProcess[]
  cli: Shoal['cli']
  end: () => Promise<void>
}

type InstallationOptions = {
  separateDataDirs?: boolean
  /** Further settings of one process. `index`: of the process within its role, from 0. */
  envOf?: (role: Role, index: number) => Record<string, string>
}

/**
 * Starts several processes of each role with an external Postgres. They share a data directory, or each has its own, as on separate
 * hosts.
 */
export async function startInstallation(
  counts: Record<Role, number>,
  env: Record<string, string> = {},
  { separateDataDirs = false, envOf = () => ({}) }: InstallationOptions = {},
): Promise<Installation> {
  const postgres = await startExternalPostgres()
  const dataDir = makeDataDir()
  const dataDirs = [dataDir]
  const newDataDir = () => {
    const dir = makeDataDir()
    dataDirs.push(dir)
    return dir
  }
  const settings = {
    ...hostEnvironment(),
    DATABASE_URL: postgres.url('shoal'),
    SHOAL_DATA_DIR: dataDir,
    SHOAL_ON_EXIT: 'keep',
    ...env,
  }
  const roles = (Object.keys(counts) as Role[]).flatMap((role) =>
    Array.from({ length: counts[role] }, (_, index) => ({ role, index, name: `${role}-${index + 1}` })),
  )
  const processes = await Promise.all(
    roles.map(({ role, index, name }) => {
      const ownDataDir = separateDataDirs ? newDataDir() : dataDir
      return createProcess(role, name, { ...settings, SHOAL_DATA_DIR: ownDataDir, ...envOf(role, index) })
    }),
  )
  const end = async () => {
    // Workers end last, because the last one stops the squids.
    for (const process of processes.filter(({ role }) => role !== 'worker')) await process.end('SIGTERM')
    for (const process of processes.filter(({ role }) => role === 'worker')) await process.end('SIGTERM')
    await postgres.stop()
    for (const dir of dataDirs) rmSync(dir, { recursive: true, force: true })
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
    withRole: (role) => processes.filter((process) => process.role === role),
    cli: (...args) => runCli(settings, args),
    end,
  }
}

async function createProcess(
  role: Role,
  name: string,
  settings: Record<string, string> & { SHOAL_DATA_DIR: string },
): Promise<RoleProcess> {
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
    const current = child
    if (!hasEnded(current)) {
      const exited = new Promise((done) => current.once('exit', done))
      current.kill(signal)
      await exited
    }
    return current.exitCode
  }
  return {
    name,
    role,
    dataDir: settings.SHOAL_DATA_DIR,
    port,
    healthUrl,
    output: () => output,
    pid: () => child?.pid ?? 0,
    start,
    end,
  }
}
