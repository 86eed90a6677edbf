import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig, type Config } from '../config/config.ts'

const mainFile = join(import.meta.dirname, '../main.ts')

/** A server that was started from this folder, with the configuration it has. Null: it belongs to another user, who alone may read that. */
type RunningServer = { pid: number; config: Config | null }

/**
 * The configuration for a command of the operator: as the command itself is told where the installation is, or else that of the server which
 * runs from this very folder. It is read from that process, so no password is kept in a file.
 * @throws Error when it cannot be known which installation is meant
 */
export function configForCommand(say: (line: string) => void): Config {
  const own = loadConfig()
  if (own.environment['SHOAL_DATA_DIR'] || own.environment['DATABASE_URL']) return own
  const servers = runningServers()
  const installations = new Map(servers.map((server) => [server.config?.dataDir ?? null, server]))
  const chosen = installations.get(own.dataDir) ?? [...installations.values()][0]
  if (!chosen) return own
  if (!chosen.config)
    throw new Error(
      `A server runs from this folder (process ${chosen.pid}) as another user, so its settings cannot be read. Run this as that user or as root, or set SHOAL_DATA_DIR.`,
    )
  if (installations.size > 1 && chosen.config.dataDir !== own.dataDir)
    throw new Error(
      `Several servers run from this folder. Set SHOAL_DATA_DIR to the one that is meant:\n${servers.map(({ pid, config }) => `  ${config?.dataDir ?? '(of another user)'} (process ${pid})`).join('\n')}`,
    )
  say(`Using the installation in ${chosen.config.dataDir}, which process ${chosen.pid} serves.`)
  return chosen.config
}

/** Those that /proc shows; elsewhere than on Linux none are found. */
function runningServers(): RunningServer[] {
  return pidsOfProc().flatMap((pid) => {
    const isServer = readWords(`/proc/${pid}/cmdline`)?.includes(mainFile)
    return isServer && pid !== process.pid ? [{ pid, config: configOf(pid) }] : []
  })
}

function pidsOfProc(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
}

function readWords(file: string): string[] | null {
  try {
    return readFileSync(file, 'utf8').split('\0')
  } catch {
    return null
  }
}

function configOf(pid: number): Config | null {
  const words = readWords(`/proc/${pid}/environ`)
  if (!words) return null
  const env = Object.fromEntries(
    words.map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]),
  )
  try {
    // A relative path is relative to where the server was started.
    return loadConfig(env, readlinkSync(`/proc/${pid}/cwd`))
  } catch {
    return null
  }
}
