import { resolve } from 'node:path'
import { z } from 'zod'
import { settings } from './settings.ts'
import { describeAllowed, invalidSettingMessage, InvalidSettingError } from './invalid-setting.ts'

const Settings = z.object(settings)
export type Config = z.output<typeof Settings> & {
  /** Absolute. */
  dataDir: string
  publicUrl: string
  /** Contains the placeholder `{org}`. */
  gatewayUrl: string
  /** The whole environment, for npm on this host. Must never reach code of a tenant. */
  environment: Record<string, string>
}

/**
 * Reads the configuration from the environment. Relative paths are relative to `folder`.
 * @throws InvalidSettingError with one line per invalid setting: its value and the allowed values
 */
export function loadConfig(env: Record<string, string | undefined> = process.env, folder = process.cwd()): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([key, value]) => key in settings && value !== ''))
  const parsed = Settings.safeParse(given)
  if (!parsed.success) {
    const invalid = new Set(parsed.error.issues.map(({ path }) => String(path[0])))
    throw new InvalidSettingError([...invalid].map((name) => messageFor(name, given[name] ?? '')).join('\n'))
  }
  const c = parsed.data
  if (c.SHOAL_RUNTIME === 'sim' && c.SHOAL_ROLES.includes('gateway') && !c.SHOAL_ROLES.includes('worker'))
    throw new InvalidSettingError(
      invalidSettingMessage(
        'SHOAL_ROLES',
        given['SHOAL_ROLES'] ?? '',
        'a list with both worker and gateway while SHOAL_RUNTIME is "sim", where squids exist only in the memory of the worker',
      ),
    )
  return {
    ...c,
    dataDir: resolve(folder, c.SHOAL_DATA_DIR),
    publicUrl: (c.SHOAL_PUBLIC_URL ?? `http://localhost:${c.SHOAL_PORT}`).replace(/\/$/, ''),
    gatewayUrl: (c.SHOAL_GATEWAY_URL ?? `http://localhost:${c.SHOAL_GATEWAY_PORT}/{org}`).replace(/\/$/, ''),
    environment: Object.fromEntries(
      Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
    ),
  }
}

const isSetting = (name: string): name is keyof typeof settings => name in settings

const messageFor = (name: string, value: string): string =>
  isSetting(name) ? invalidSettingMessage(name, value, describeAllowed(settings[name])) : `${name} is not valid.`

/** The public URL of an organization's squids. */
export const gatewayUrlOf = (config: Pick<Config, 'gatewayUrl'>, orgCode: string): string =>
  config.gatewayUrl.replaceAll('{org}', orgCode)
