import { parseTargets, type NetworkTarget, type RegistrySettings } from '@shoal/runtime'
import { resolve } from 'node:path'
import { z } from 'zod'
import { parseSquidServers, type SquidServer } from './database-settings.ts'
import { settings } from './settings.ts'
import { parseHasuraSettings } from './hasura-settings.ts'
import { parseRegistrySettings } from './registry-settings.ts'
import { parseKubernetesSettings, type KubernetesSettings } from './runtime-settings.ts'
import { parseS3Settings, type S3Settings } from './s3-settings.ts'
import { parseDnsServers, parseTlsSettings, type TlsSettings } from './tls-settings.ts'
import { describeAllowed, invalidSettingMessage, InvalidSettingError } from './invalid-setting.ts'

const Settings = z.object(settings)
export type Config = z.output<typeof Settings> & {
  /** The absolute path of SHOAL_DATA_DIR. */
  dataDir: string
  publicUrl: string
  /** Contains the placeholder `{org}`. */
  gatewayUrl: string
  /** The servers that SHOAL_SQUIDS_DATABASE_URL lists; empty if it is not set. */
  squidServers: SquidServer[]
  /** The bucket for archives; null if they are stored in `dataDir`. */
  s3: S3Settings | null
  /** The registry to which images are pushed; null if there is none. */
  registry: RegistrySettings | null
  /** The cluster in which squids run; null if they run elsewhere. */
  kubernetes: KubernetesSettings | null
  /** How Shoal serves HTTPS; null if it does not. */
  tls: TlsSettings | null
  /** Addresses of DNS servers that verify domains; empty: those of the host. */
  dnsServers: string[]
  /** What runs for the addon `hasura`; null if this installation does not offer it. */
  hasura: { image: string } | { file: string } | null
  /** The targets that SHOAL_NETWORK_ALLOW lists. */
  networkAllow: NetworkTarget[]
  /** The environment for npm on this host, without settings and credentials of the server. Must never be passed to code of a tenant. */
  environment: Record<string, string>
  /** File descriptors of the ports that systemd has opened for this process, as sd_listen_fds(3) describes. */
  inheritedFds: number[]
  /** Whether the environment names an installation. */
  namesInstallation: boolean
}

/**
 * Reads the configuration from the environment. Relative paths are relative to `folder`.
 * @throws InvalidSettingError with one line per invalid setting: its value and the allowed values
 */
export function loadConfig(env: Record<string, string | undefined> = process.env, folder = process.cwd()): Config {
  const givenSettings = Object.fromEntries(
    Object.entries(env).filter(([key, value]) => key in settings && value !== ''),
  )
  const parsed = Settings.safeParse(givenSettings)
  if (!parsed.success) {
    const invalid = new Set(parsed.error.issues.map(({ path }) => String(path[0])))
    throw new InvalidSettingError([...invalid].map((name) => messageFor(name, givenSettings[name] ?? '')).join('\n'))
  }
  const values = parsed.data
  if (
    values.SHOAL_RUNTIME === 'sim' &&
    values.SHOAL_ROLES.includes('gateway') &&
    !values.SHOAL_ROLES.includes('worker')
  )
    throw new InvalidSettingError(
      invalidSettingMessage(
        'SHOAL_ROLES',
        givenSettings['SHOAL_ROLES'] ?? '',
        'a list with both worker and gateway while SHOAL_RUNTIME is "sim", where squids exist only in the memory of the worker',
      ),
    )
  const caFile = values.SHOAL_CA_FILE === undefined ? undefined : resolve(folder, values.SHOAL_CA_FILE)
  const squidServers = parseSquidServers(values.SHOAL_SQUIDS_DATABASE_URL)
  return {
    ...values,
    SHOAL_CA_FILE: caFile,
    squidServers,
    dataDir: resolve(folder, values.SHOAL_DATA_DIR),
    publicUrl: (values.SHOAL_PUBLIC_URL ?? `http://localhost:${values.SHOAL_PORT}`).replace(/\/$/, ''),
    gatewayUrl: (values.SHOAL_GATEWAY_URL ?? `http://localhost:${values.SHOAL_GATEWAY_PORT}/{org}`).replace(/\/$/, ''),
    s3: parseS3Settings(values),
    registry: parseRegistrySettings(values),
    kubernetes: parseKubernetesSettings(values, squidServers),
    tls: parseTlsSettings(values),
    dnsServers: parseDnsServers(values.SHOAL_DNS_SERVERS),
    hasura: parseHasuraSettings(values),
    networkAllow: parseNetworkAllow(values.SHOAL_NETWORK_ALLOW),
    environment: environmentOf(env, caFile),
    inheritedFds: inheritedFdsOf(env),
    namesInstallation: !!(env['SHOAL_DATA_DIR'] || env['DATABASE_URL']),
  }
}

/**
 * Variables with settings of the server, or with credentials of AWS and Postgres, which the server's libraries read, and the folder of the
 * server's compiled code.
 */
const isServerVariable = (name: string) => isSetting(name) || /^(SHOAL_|AWS_|PG[A-Z]|NODE_COMPILE_CACHE$)/.test(name)

/** Returns the environment for npm, which trusts the authorities in `caFile` unless NODE_EXTRA_CA_CERTS is set. */
function environmentOf(env: Record<string, string | undefined>, caFile: string | undefined): Record<string, string> {
  const withAuthorities = { ...(caFile === undefined ? {} : { NODE_EXTRA_CA_CERTS: caFile }), ...env }
  return Object.fromEntries(
    Object.entries(withAuthorities).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !isServerVariable(entry[0]),
    ),
  )
}

/** The first file descriptor that systemd passes to a service. */
const firstInheritedFd = 3

function inheritedFdsOf(env: Record<string, string | undefined>): number[] {
  // The variables are inherited, too: a child of the process that systemd started must ignore them.
  const count = env['LISTEN_PID'] === String(process.pid) ? Number(env['LISTEN_FDS']) : 0
  return Array.from({ length: count }, (_, index) => firstInheritedFd + index)
}

function parseNetworkAllow(text: string): NetworkTarget[] {
  try {
    return parseTargets(text)
  } catch (error) {
    const allowed = 'a list of IPv4 addresses, CIDRs or names, each with or without a port, separated by commas'
    const reason = error instanceof Error ? error.message : String(error)
    throw new InvalidSettingError(`${invalidSettingMessage('SHOAL_NETWORK_ALLOW', text, allowed)} ${reason}.`, {
      cause: error,
    })
  }
}

const isSetting = (name: string): name is keyof typeof settings => name in settings

const messageFor = (name: string, value: string): string =>
  isSetting(name) ? invalidSettingMessage(name, value, describeAllowed(settings[name])) : `${name} is not valid.`

/** Returns the public URL of an organization's squids. */
export const gatewayUrlOf = (config: Pick<Config, 'gatewayUrl'>, orgCode: string): string =>
  config.gatewayUrl.replaceAll('{org}', orgCode)

/** Returns the gateway's base URL, without the path of squids, for addresses of an organization at the gateway. */
export const gatewayRootOf = (config: Pick<Config, 'gatewayUrl'>, orgCode: string): string =>
  gatewayUrlOf(config, orgCode).replace(/^(\w+:\/\/[^/]*).*$/, '$1')
