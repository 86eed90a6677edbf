import { isInSandbox } from '@shoal/runtime'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig, type Config } from '../config/config.ts'

const mainFile = join(import.meta.dirname, '../main.ts')

/** A server that was started from this folder. `config` is null if the server runs as another user and its settings cannot be read. */
type RunningServer = { pid: number; config: Config | null }

/**
 * Returns the configuration for an operator command: from its own environment if that names an installation, otherwise from the process
 * of the server that runs from this folder, so that no password has to be stored in a file.
 * @param print receives a line that names the server's installation
 * @throws Error if the installation cannot be determined
 */
export function configForCommand(print: (line: string) => void): Config {
  const ownConfig = loadConfig()
  if (ownConfig.namesInstallation) return ownConfig
  const servers = runningServers()
  const installations = new Map(servers.map((server) => [server.config?.dataDir ?? null, server]))
  const chosen = installations.get(ownConfig.dataDir) ?? [...installations.values()][0]
  if (!chosen) return ownConfig
  if (!chosen.config)
    throw new Error(
      `A server runs from this folder (process ${chosen.pid}) as another user, so its settings cannot be read. Run this command as that user or as root, or set SHOAL_DATA_DIR.`,
    )
  if (installations.size > 1 && chosen.config.dataDir !== ownConfig.dataDir)
    throw new Error(
      `Several servers run from this folder. Set SHOAL_DATA_DIR to one of:\n${servers.map(({ pid, config }) => `  ${config?.dataDir ?? '(of another user)'} (process ${pid})`).join('\n')}`,
    )
  print(`Using the installation in ${chosen.config.dataDir}, which process ${chosen.pid} serves.`)
  return chosen.config
}

/** Finds servers in /proc, which exists only on Linux. */
function runningServers(): RunningServer[] {
  return listPids().flatMap((pid) => {
    // A squid can have any command line and environment.
    const isServer = readStrings(`/proc/${pid}/cmdline`)?.includes(mainFile) && !isInSandbox(pid)
    return isServer && pid !== process.pid ? [{ pid, config: configOf(pid) }] : []
  })
}

function listPids(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
}

/** Reads a file of null-terminated strings; null if it cannot be read. */
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
