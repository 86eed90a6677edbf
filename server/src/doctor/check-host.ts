import { inspectHost, readHostReport, tryFileLock, type HostReport } from '@shoal/runtime'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { locksDir } from '../installation/holders.ts'
import { networkTargets } from '../startup/network-targets.ts'
import { failed, ok, reasonOf, skipped, warning, type Check, type CheckResult, type Examined } from './check.ts'

/**
 * The checked limits. Below `recommended` the check warns, below `required` it fails. A server keeps a file open for each connection, and
 * squids inherit the limits.
 */
const limits = [
  { key: 'Max open files', name: 'open files', setting: 'LimitNOFILE', recommended: 65_536, required: 4_096 },
  { key: 'Max processes', name: 'processes', setting: 'LimitNPROC', recommended: 4_096, required: 512 },
] as const

/** Checks the limits of the server's process, or of this process if no server runs. Node raises its limits to the hard limit. */
export const limitsCheck: Check = {
  name: 'limits',
  run: ({ servers }) => Promise.resolve(readLimits(servers[0]?.pid ?? 'self')),
}

function readLimits(pid: number | 'self'): CheckResult[] {
  const file = `/proc/${pid}/limits`
  if (!existsSync(file)) return [skipped('limits', `${file} does not exist on this system`)]
  const lines = readFileSync(file, 'utf8').split('\n')
  const processText = pid === 'self' ? 'of this process' : `of process ${pid}`
  return limits.map(({ key, name, setting, recommended, required }) => {
    const hardLimit = /\s(\d+|unlimited)\s+(\d+|unlimited)\s/.exec(
      lines.find((line) => line.startsWith(key)) ?? '',
    )?.[2]
    const limit = hardLimit === undefined || hardLimit === 'unlimited' ? Infinity : Number(hardLimit)
    const finding = `${hardLimit ?? 'unknown'} ${name} (limit ${processText})`
    const remedy = `Set ${setting}=${recommended} or more in the unit of systemd, or raise the hard limit with ulimit before the start.`
    if (limit < required) return failed('limits', `${finding}; at least ${required} are needed`, remedy)
    return limit < recommended
      ? warning('limits', `${finding}; ${recommended} are recommended`, remedy)
      : ok('limits', finding)
  })
}

/** What protects squids from each other on this host: the name of each check, and what to do if it fails. */
const protections: Record<keyof HostReport, { name: string; isVital: boolean; remedy: string }> = {
  sandbox: {
    name: 'sandbox',
    isVital: true,
    remedy: 'Install bubblewrap 0.7 or newer, allow user namespaces, and unset SHOAL_SANDBOX; then restart the server.',
  },
  limits: {
    name: 'cgroups',
    isVital: true,
    remedy: 'Run the server as root, or in a cgroup that is delegated to its user; then restart it.',
  },
  network: {
    name: 'network of squids',
    isVital: true,
    remedy:
      'Install iproute2 and nftables (as another user than root: passt and nftables), and unset SHOAL_NETWORK; then restart the server.',
  },
  disk: {
    name: 'disk of squids',
    isVital: false,
    remedy:
      'Install e2fsprogs, and run the server as root, where loop devices can be used or the data directory is on btrfs with quotas.',
  },
  users: {
    name: 'users of squids',
    isVital: false,
    remedy: 'Run the server as root with setpriv (util-linux), so that each version has its own user.',
  },
}

/** Checks what the active worker detected on its host; without one, detects it now. */
export const hostCheck: Check = {
  name: 'host',
  run: async (examined) => {
    const { config } = examined
    if (config.SHOAL_RUNTIME === 'sim') return [skipped('host', 'squids are only simulated (SHOAL_RUNTIME=sim)')]
    if (config.kubernetes?.builds === 'jobs') return [skipped('host', 'squids and builds run in a cluster')]
    if (!config.SHOAL_ROLES.includes('worker')) return [skipped('host', 'no worker runs here (SHOAL_ROLES)')]
    const { report, source } = await readHost(examined)
    if (report === null) return [warning('host', source, 'Start the worker once, and run this command again.')]
    return Object.entries(protections).map(([key, { name, isVital, remedy }]) => {
      const { state, isProtected, problems } = report[key as keyof HostReport]
      if (problems.length === 0 && isProtected) return ok(name, `${state} (${source})`)
      const finding = `${state}: ${problems.join(' ') || 'weaker than it could be'} (${source})`
      return isVital && !isProtected ? failed(name, finding, remedy) : warning(name, finding, remedy)
    })
  },
}

async function readHost(examined: Examined): Promise<{ report: HostReport | null; source: string }> {
  const { config, stateDir } = examined
  const exists = existsSync(config.dataDir)
  // Detection creates networks, which would disturb a running worker. No worker starts while this process holds the lock.
  const lock = exists ? tryFileLock(join(locksDir(config), 'worker.lock'), 'exclusive') : null
  if (exists && !lock) {
    const recorded = readHostReport(stateDir)
    return recorded
      ? { report: recorded.report, source: `detected by the worker at ${recorded.at}` }
      : { report: null, source: 'the active worker has not recorded what it detected' }
  }
  const temporaryDir = exists ? null : mkdtempSync(join(tmpdir(), 'shoal-doctor-'))
  try {
    const report = await inspectHost({
      stateDir: temporaryDir ?? stateDir,
      sandbox: config.SHOAL_SANDBOX,
      network: config.SHOAL_NETWORK,
      targets: networkTargets(config, ['postgres://127.0.0.1:5432/postgres']),
      containerDiskBytes: config.SHOAL_CONTAINER_DISK_MB * 2 ** 20,
    })
    return { report, source: 'detected now; no worker runs' }
  } catch (error) {
    return { report: null, source: `it could not be detected: ${reasonOf(error)}` }
  } finally {
    lock?.release()
    if (temporaryDir) rmSync(temporaryDir, { recursive: true, force: true })
  }
}
