import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { NpmConfig } from './npm-config.ts'

/** The home folder of a build's programs. Contains only the registry configuration. */
export type BuildHome = { dir: string; env: Record<string, string> }

/** Creates the home folder. */
export async function makeBuildHome(dir: string, config: NpmConfig): Promise<BuildHome> {
  const { files, env } = buildHomeContent(dir, config)
  await mkdir(dir, { mode: 0o755 })
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(dir, name), content)
  }
  return { dir, env }
}

/** Returns the configuration as files of the home folder `dir`, by name, so that a squid's `.npmrc` or `.yarnrc.yml` overrides it. */
export function buildHomeContent(
  dir: string,
  config: NpmConfig,
): { files: Record<string, string>; env: Record<string, string> } {
  const certificateFile = config.certificates === null ? null : join(dir, CERTIFICATES)
  const npmrc = {
    registry: config.registry,
    'https-proxy': config.proxy,
    proxy: config.proxy,
    noproxy: config.noProxy,
  }
  const yarnrc = {
    npmRegistryServer: config.registry,
    httpsProxy: config.proxy,
    httpProxy: config.proxy,
  }
  const files = {
    ...(config.certificates === null ? {} : { [CERTIFICATES]: config.certificates }),
    '.npmrc': renderLines(npmrc, (key, value) => `${key}=${value}`),
    '.yarnrc.yml': renderLines(yarnrc, (key, value) => `${key}: ${JSON.stringify(value)}`),
  }
  return { files, env: { HOME: dir, ...environment(config, certificateFile) } }
}

const CERTIFICATES = 'certificates.pem'

function environment(config: NpmConfig, certificateFile: string | null): Record<string, string> {
  return {
    // Every package manager respects this variable, but only npm respects `cafile`.
    ...(certificateFile === null ? {} : { NODE_EXTRA_CA_CERTS: certificateFile }),
    ...(config.proxy === null ? {} : { HTTPS_PROXY: config.proxy, HTTP_PROXY: config.proxy }),
    ...(config.noProxy === null ? {} : { NO_PROXY: config.noProxy }),
  }
}

function renderLines(
  values: Record<string, string | null>,
  renderLine: (key: string, value: string) => string,
): string {
  return Object.entries(values)
    .flatMap(([key, value]) => (value === null ? [] : [`${renderLine(key, value)}\n`]))
    .join('')
}
