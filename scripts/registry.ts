import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findRegistry } from './debian-packages.ts'

export type Registry = {
  /** Its address, as `127.0.0.1:port`. */
  host: string
  /** The folder of its content. */
  folder: string
  /** Restarts it on the same port with the same content. */
  restart(): Promise<void>
  /** Stops the registry, deletes blobs to which no manifest refers, and starts it again. */
  collectGarbage(): Promise<void>
  stop(): Promise<void>
}

export type RegistryOptions = {
  /** Content of an htpasswd file, whose passwords must be hashed with bcrypt. */
  htpasswd?: string
  /** A server that issues tokens, and the PEM file with its certificate. */
  token?: { realm: string; certificateFile: string }
  /** False: the registry refuses deletions. */
  allowsDeletion?: boolean
}

/** False: tests that need a registry are skipped. */
export const hasRegistry = findRegistry() !== null

/**
 * Starts Debian's docker-registry on a free loopback port.
 * @throws if it is not installed or does not start
 */
export async function startRegistry(options: RegistryOptions = {}): Promise<Registry> {
  const program = findRegistry()
  if (program === null)
    throw new Error('docker-registry is not installed. `npm test` downloads it into node_modules/.cache/debian.')
  const folder = mkdtempSync(join(tmpdir(), 'registry-'))
  const file = join(folder, 'config.json')
  const log = join(folder, 'registry.log')
  let host = '127.0.0.1:0'
  let registry: ChildProcess | null = null

  const run = (...args: string[]): ChildProcess => {
    writeFileSync(file, JSON.stringify(configuration(folder, host, options)))
    const output = openSync(log, 'a')
    const env = { PATH: process.env['PATH'], OTEL_TRACES_EXPORTER: 'none' }
    const child = spawn(program, args, { env, stdio: ['ignore', output, output] })
    closeSync(output)
    return child
  }
  const start = async () => {
    const lengthBefore = existsSync(log) ? readFileSync(log, 'utf8').length : 0
    registry = run('serve', file)
    host = await untilListening(registry, () => readFileSync(log, 'utf8').slice(lengthBefore))
  }
  const end = async () => {
    if (registry !== null && registry.exitCode === null && registry.signalCode === null) {
      const ended = new Promise((resolve) => registry?.once('exit', resolve))
      registry.kill('SIGKILL')
      await ended
    }
    registry = null
  }
  await start()
  return {
    host,
    folder: join(folder, 'images'),
    async restart() {
      await end()
      await start()
    },
    async collectGarbage() {
      await end()
      const child = run('garbage-collect', file)
      await new Promise((resolve) => child.once('exit', resolve))
      await start()
    },
    async stop() {
      await end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function configuration(
  folder: string,
  host: string,
  { htpasswd, token, allowsDeletion = true }: RegistryOptions,
): object {
  if (htpasswd !== undefined) writeFileSync(join(folder, 'htpasswd'), htpasswd)
  const auth = {
    ...(htpasswd === undefined ? {} : { htpasswd: { realm: 'registry', path: join(folder, 'htpasswd') } }),
    ...(token === undefined
      ? {}
      : {
          token: { realm: token.realm, service: 'registry', issuer: 'issuer', rootcertbundle: token.certificateFile },
        }),
  }
  return {
    version: '0.1',
    log: { level: 'info', formatter: 'json' },
    storage: { filesystem: { rootdirectory: join(folder, 'images') }, delete: { enabled: allowsDeletion } },
    http: { addr: host, secret: 'of-tests' },
    ...(Object.keys(auth).length === 0 ? {} : { auth }),
  }
}

/** Returns the address that the registry listens on, from its log. */
async function untilListening(registry: ChildProcess, log: () => string): Promise<string> {
  while (registry.exitCode === null && registry.signalCode === null) {
    const address = /listening on (127\.0\.0\.1:\d+)/.exec(log())?.[1]
    if (address !== undefined) return address
    await delay(20)
  }
  throw new Error(`docker-registry ended: ${log().slice(-2000)}`)
}
