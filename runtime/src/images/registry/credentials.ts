import { readFile } from 'node:fs/promises'

/** Credentials of one registry. An `identityToken` is exchanged for access tokens. */
export type Credentials = { username: string; password: string } | { identityToken: string }

/** Returns the credentials for a registry; null if there are none. `host`: as in the names of images. */
export type FindCredentials = (host: string) => Promise<Credentials | null>

type DockerConfig = {
  auths?: Record<string, { auth?: string; username?: string; password?: string; identitytoken?: string }>
  credHelpers?: Record<string, string>
  credsStore?: string
}

/**
 * Returns a function that reads credentials from a file in the format of Docker's `config.json`. It reads the file for each call,
 * because tools replace short-lived passwords in it. `file` null: no credentials.
 */
export function credentialsFrom(file: string | null): FindCredentials {
  return async (host) => (file === null ? null : findIn(await readConfig(file), file, host))
}

/** @throws Error without the content of the file, which contains passwords */
async function readConfig(file: string): Promise<DockerConfig> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (cause) {
    throw new Error(`The credentials of registries in ${file} cannot be read`, { cause })
  }
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`${file} is not a configuration file of Docker (JSON with "auths")`)
  }
}

function findIn(config: DockerConfig, file: string, host: string): Credentials | null {
  const names = aliasesOf(host)
  const entry = Object.entries(config.auths ?? {}).find(([name]) => names.includes(hostOf(name)))?.[1]
  if (entry?.identitytoken) return { identityToken: entry.identitytoken }
  if (entry?.auth) {
    const [username = '', ...password] = Buffer.from(entry.auth, 'base64').toString().split(':')
    return { username, password: password.join(':') }
  }
  if (entry?.username) return { username: entry.username, password: entry.password ?? '' }
  const helper = config.credHelpers?.[host] ?? config.credsStore
  if (helper === undefined) return null
  throw new Error(
    `${file} keeps the password of ${host} in the credential helper "${helper}", which Shoal does not run. Use a file with "auths".`,
  )
}

/** Docker stores the credentials of Docker Hub under the address of its first API. */
const aliasesOf = (host: string): string[] =>
  host === 'docker.io' ? ['docker.io', 'index.docker.io', 'registry-1.docker.io'] : [host]

const hostOf = (key: string): string => key.replace(/^https?:\/\//, '').replace(/\/.*$/, '')
