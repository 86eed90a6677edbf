import { waitForFileLock, type FileLock } from '@shoal/runtime'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { errorCodeOf, invalidSettingMessage, InvalidSettingError } from '../config/invalid-setting.ts'
import { describeHolder, liveHolders, locksDir, recordHolder } from './holders.ts'

/** For the operator to resolve; its message says who uses the installation. */
export class InstallationInUse extends Error {
  override name = 'InstallationInUse'
}

/** The right to use a data directory. */
export type InstallationLock = {
  /** True when this process is the only one of the installation from now on: it may stop what all of them use. */
  tryExclusive: () => Promise<boolean>
  release: () => void
}

/** A start of another process takes the lock for an instant to see whether it can have it. */
const lockTimeoutMs = 500
/** A command that stops the Postgres it started is done soon. */
const commandLockTimeoutMs = 10_000

/**
 * A process that is the whole installation and takes it down at its end needs it for itself, as `npm start` and `npm run dev` do.
 * All others share it: any number of processes of any role.
 */
export const needsExclusive = (config: Pick<Config, 'SHOAL_ON_EXIT' | 'SHOAL_ROLES'>): boolean =>
  config.SHOAL_ON_EXIT === 'stop' && new Set(config.SHOAL_ROLES).size === 3

function makeDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o755 })
  } catch (error) {
    const allowed = `a directory that the server can make and write to (${errorCodeOf(error)})`
    throw new InvalidSettingError(invalidSettingMessage('SHOAL_DATA_DIR', dataDir, allowed), { cause: error })
  }
}

/**
 * Proves that nothing else uses the data directory in a way that conflicts, before anything in it is touched.
 * @throws InstallationInUse naming the processes that do
 * @throws InvalidSettingError when the data directory cannot be made
 */
export async function lockInstallation(
  config: Config,
  options: { alone: boolean; roles: string[] },
): Promise<InstallationLock> {
  makeDataDir(config.dataDir)
  const dir = locksDir(config)
  const file = lockFile(dir)
  let lock: FileLock | null = await take(dir, options.alone ? 'exclusive' : 'shared')
  if (!lock) throw new InstallationInUse(refusal(config, dir, options.alone))
  let isAlone = options.alone
  const removeNote = recordHolder(dir, systemClock, { command: commandOf(config), roles: options.roles })
  return {
    tryExclusive: async () => {
      if (isAlone) return true
      lock?.release()
      lock = await waitForFileLock(file, 'exclusive', lockTimeoutMs)
      isAlone = lock !== null
      return isAlone
    },
    release: () => {
      removeNote()
      lock?.release()
    },
  }
}

const lockFile = (dir: string) => join(dir, 'installation.lock')

async function take(dir: string, mode: 'shared' | 'exclusive'): Promise<FileLock | null> {
  const lock = await waitForFileLock(lockFile(dir), mode, lockTimeoutMs)
  if (lock || liveHolders(dir).some(({ roles }) => roles.length > 0)) return lock
  return await waitForFileLock(lockFile(dir), mode, commandLockTimeoutMs)
}

function refusal(config: Config, dir: string, alone: boolean): string {
  const others = liveHolders(dir)
  const who = others.length > 0 ? others.map(describeHolder).join(', ') : 'another process'
  const isServed = others.some(({ roles }) => roles.length > 0) || others.length === 0
  return [
    `The installation in ${config.dataDir} is ${isServed ? 'served' : 'used'} by ${who}.`,
    alone && isServed
      ? 'This command needs it for itself. Stop the other first, or give this one a SHOAL_DATA_DIR and ports of its own.'
      : 'That one needs it for itself. Stop it first, or give this one a SHOAL_DATA_DIR and ports of its own.',
  ].join('\n')
}

const npmCommands = ['start', 'serve', 'dev', 'demo', 'shoal']

/** As the operator knows it. Never its arguments: they may hold a password. */
function commandOf({ environment }: Pick<Config, 'environment'>): string {
  const script = environment['npm_lifecycle_event'] ?? ''
  if (!npmCommands.includes(script)) return `node ${process.argv[1] ?? ''}`
  return script === 'start' ? 'npm start' : `npm run ${script}`
}
