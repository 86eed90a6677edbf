import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { NetworkTarget } from '../process/network/network.ts'

/** The npm of the host, which runs with the permissions and environment of the server. */
export type HostNpm = { command: string[]; env: Record<string, string> }

/** The registry configuration, the only part of the host's configuration that builds receive. Null: npm's default. */
export type NpmConfig = {
  registry: string | null
  /** PEM text of the certificate authorities to trust in addition to Node's own. */
  certificates: string | null
  proxy: string | null
  noProxy: string | null
}

/**
 * Reads the registry, certificates and proxy from the configuration of the host's npm. Removes credentials from the URLs of the
 * registry and the proxy.
 */
export async function readNpmConfig(npm: HostNpm): Promise<NpmConfig> {
  const keys = ['registry', 'cafile', 'https-proxy', 'noproxy']
  const [program = 'npm', ...args] = npm.command
  const { stdout } = await promisify(execFile)(program, [...args, 'config', 'list', '--json', '--long'], {
    env: npm.env,
    maxBuffer: 16 * 1024 * 1024,
  })
  const config: Record<string, unknown> = JSON.parse(stdout)
  const [registry, caFile, proxy, noProxy] = keys.map((key) => textOf(config[key]))
  const certificateFile = npm.env.NODE_EXTRA_CA_CERTS ?? caFile
  return {
    registry: withoutCredentials(registry),
    certificates: certificateFile ? await readFile(certificateFile, 'utf8') : null,
    proxy: withoutCredentials(proxy ?? npm.env.HTTPS_PROXY ?? npm.env.https_proxy),
    noProxy: noProxy ?? npm.env.NO_PROXY ?? npm.env.no_proxy ?? null,
  }
}

/** Returns the configured registry and the proxy as targets that builds may reach even if their addresses are private. */
export function npmTargets({ registry, proxy }: NpmConfig): NetworkTarget[] {
  const urls = [registry, proxy].filter((url) => url !== null && URL.canParse(url)).map((url) => new URL(url ?? ''))
  return urls.map(({ hostname, port, protocol }) => ({
    host: hostname,
    port: Number(port) || (protocol === 'http:' ? 80 : 443),
  }))
}

/** Returns a setting as text; undefined if it is empty. npm returns some settings, such as `noproxy`, as lists. */
function textOf(value: unknown): string | undefined {
  const joined = Array.isArray(value) ? value.join(',') : value
  return typeof joined === 'string' && joined !== '' ? joined : undefined
}

function withoutCredentials(url: string | undefined): string | null {
  if (url === undefined || !URL.canParse(url)) {
    return null
  }
  const parsed = new URL(url)
  parsed.username = ''
  parsed.password = ''
  return parsed.href
}
