import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig, type Config } from '../config/config.ts'

const mainFile = join(import.meta.dirname, '../main.ts')

/** A server that was started from this folder. Its configuration is null if it runs as another user and cannot be read. */
type RunningServer = { pid: number; config: Config | null }

/**
 * The configuration for an operator command: from its own environment if that names an installation, otherwise that of the server
 * that runs from this folder. It is read from the server's process, so that no password has to be kept in a file.
 * @param print receives a line that names the installation that was found
 * @throws Error if the installation cannot be determined
 */
export function configForCommand(print: (line: string) => void): Config {
  const own = loadConfig()
  if (own.environment['SHOAL_DATA_DIR'] || own.environment['DATABASE_URL']) return own
  const servers = runningServers()
  const installations = new Map(servers.map((server) => [server.config?.dataDir ?? null, server]))
  const chosen = installations.get(own.dataDir) ?? [...installations.values()][0]
  if (!chosen) return own
  if (!chosen.config)
    throw new Error(
      `A server runs from this folder (process ${chosen.pid}) as another user, so its settings cannot be read. Run this command as that user or as root, or set SHOAL_DATA_DIR.`,
    )
  if (installations.size > 1 && chosen.config.dataDir !== own.dataDir)
    throw new Error(
      `Several servers run from this folder. Set SHOAL_DATA_DIR to one of:\n${servers.map(({ pid, config }) => `  ${config?.dataDir ?? '(of another user)'} (process ${pid})`).join('\n')}`,
    )
  print(`Using the installation in ${chosen.config.dataDir}, which process ${chosen.pid} serves.`)
  return chosen.config
}

/** Finds servers in /proc, so only on Linux. */
function runningServers(): RunningServer[] {
  return pidsOfProc().flatMap((pid) => {
    const isServer = readStrings(`/proc/${pid}/cmdline`)?.includes(mainFile)
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

/** Null-terminated strings; null if the file cannot be read. */
function readStrings(file: string): string[] | null {
  try {
    return readFileSync(file, 'utf8').split('\0')
  } catch {
    return null
  }
}

function configOf(pid: number): Config | null {
  const variables = readStrings(`/proc/${pid}/environ`)
  if (!variables) return null
  const env = Object.fromEntries(
    variables.map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]),
  )
  try {
    // Relative paths are relative to the folder in which the server was started.
    return loadConfig(env, readlinkSync(`/proc/${pid}/cwd`))
  } catch {
    return null
  }
}
