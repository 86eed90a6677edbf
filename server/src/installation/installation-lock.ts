import { waitForFileLock, type FileLock } from '@shoal/runtime'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { errorCodeOf, invalidSettingMessage, InvalidSettingError } from '../config/invalid-setting.ts'
import { describeHolder, liveHolders, locksDir, recordHolder } from './holders.ts'

/** Another process uses the installation; the message names the process for the operator. */
export class InstallationInUse extends Error {
  override name = 'InstallationInUse'
}

/** The right to use a data directory, exclusively or together with other processes. */
export type InstallationLock = {
  /** Makes the lock exclusive. Returns false while other processes hold it; shared programs such as Postgres must then keep running. */
  tryExclusive: () => Promise<boolean>
  release: () => void
}

/** Another starting process may hold the lock briefly to test whether the lock is free. */
const lockTimeoutMs = 500
/** The timeout while only short-lived commands hold the lock, which release it soon. */
const commandLockTimeoutMs = 10_000

/**
 * Whether the process has all roles and stops everything when it exits, as `npm start` and `npm run dev` do. Any number of other
 * processes, with any roles, can share the installation.
 */
export const needsExclusive = (config: Pick<Config, 'SHOAL_ON_EXIT' | 'SHOAL_ROLES'>): boolean =>
  config.SHOAL_ON_EXIT === 'stop' && new Set(config.SHOAL_ROLES).size === 3

function makeDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o755 })
  } catch (error) {
    const allowedText = `a directory that the server can create and write to (${errorCodeOf(error)})`
    throw new InvalidSettingError(invalidSettingMessage('SHOAL_DATA_DIR', dataDir, allowedText), { cause: error })
  }
}

/**
 * Locks the data directory, creating it if needed. Must be called before any access to the directory.
 * @throws InstallationInUse with the processes that hold conflicting locks
 * @throws InvalidSettingError if the data directory cannot be created
 */
export async function lockInstallation(
  config: Config,
  options: { exclusive: boolean; roles: string[] },
): Promise<InstallationLock> {
  makeDataDir(config.dataDir)
  const dir = locksDir(config)
  const file = lockFile(dir)
  let lock: FileLock | null = await acquire(dir, options.exclusive ? 'exclusive' : 'shared')
  if (!lock) throw new InstallationInUse(inUseMessage(config, dir, options.exclusive))
  let isExclusive = options.exclusive
  const deleteRecord = recordHolder(dir, systemClock, { command: commandOf(config), roles: options.roles })
  return {
    tryExclusive: async () => {
      if (isExclusive) return true
      lock?.release()
      lock = await waitForFileLock(file, 'exclusive', lockTimeoutMs)
      isExclusive = lock !== null
      return isExclusive
    },
    release: () => {
      deleteRecord()
      lock?.release()
    },
  }
}

const lockFile = (dir: string) => join(dir, 'installation.lock')

async function acquire(dir: string, mode: 'shared' | 'exclusive'): Promise<FileLock | null> {
  const lock = await waitForFileLock(lockFile(dir), mode, lockTimeoutMs)
  if (lock || liveHolders(dir).some(({ roles }) => roles.length > 0)) return lock
  return await waitForFileLock(lockFile(dir), mode, commandLockTimeoutMs)
}

function inUseMessage(config: Config, dir: string, exclusive: boolean): string {
  const others = liveHolders(dir)
  const holders = others.length > 0 ? others.map(describeHolder).join(', ') : 'another process'
  const hasServer = others.some(({ roles }) => roles.length > 0) || others.length === 0
  return [
    `The installation in ${config.dataDir} is ${hasServer ? 'served' : 'used'} by ${holders}.`,
    exclusive && hasServer
      ? 'This command needs exclusive access. Stop the other process first, or give this one its own SHOAL_DATA_DIR and ports.'
      : 'That process needs exclusive access. Stop it first, or give this one its own SHOAL_DATA_DIR and ports.',
  ].join('\n')
}

const npmCommands = ['start', 'serve', 'dev', 'demo', 'shoal']

/** Returns the command that the operator ran, without its arguments, because they may contain a password. */
function commandOf({ environment }: Pick<Config, 'environment'>): string {
  const script = environment['npm_lifecycle_event'] ?? ''
  if (!npmCommands.includes(script)) return `node ${process.argv[1] ?? ''}`
  return script === 'start' ? 'npm start' : `npm run ${script}`
}
