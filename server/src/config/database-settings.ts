import { z } from 'zod'
import { isSamePostgres } from '../db/database.ts'
import { InvalidSettingError } from './invalid-setting.ts'

/** Settings of the Postgres servers. */
export const postgresSettings = {
  DATABASE_URL: z
    .string()
    .optional()
    .describe(
      'A Postgres of version 14 or newer for the control plane and, unless SHOAL_SQUIDS_DATABASE_URL is set, the squids. Unset: an embedded Postgres for each of the two.',
    ),
  SHOAL_POSTGRES_CONNECTIONS: z.coerce
    .number()
    .int()
    .min(100)
    .max(10_000)
    .default(700)
    .describe(
      'Maximum number of connections of the embedded Postgres of squids, from its next start on. A squid keeps about 7 open. For an external Postgres, set its `max_connections`.',
    ),
  SHOAL_SQUIDS_DATABASE_URL: z
    .string()
    .optional()
    .describe(
      'A separate Postgres for the databases of squids, or several, separated by commas or spaces; its role must be able to create roles and databases. Default: a separate embedded Postgres; if DATABASE_URL is set, the Postgres of the control plane. See “Several Postgres servers for squids”.',
    ),
  SHOAL_LOGS_DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//)
    .optional()
    .describe(
      'A Postgres database only for the log lines of squids, which grow the fastest. Lines that are already stored are moved there while the server runs; see `docs/logs.md`. Unset: the database of the control plane.',
    ),
  SHOAL_SQUIDS_POSTGRES_MEMORY_MB: z.coerce
    .number()
    .int()
    .min(1024)
    .optional()
    .describe(
      'Memory limit of the embedded Postgres of squids, if cgroups can be created. Default: half of the memory of the machine.',
    ),
  SHOAL_SQUIDS_STATEMENT_MINUTES: z.coerce
    .number()
    .positive()
    .max(35_000)
    .default(60)
    .describe(
      'Maximum duration of a statement or an idle transaction of a squid or its external users in the Postgres of squids. Shorter limits in the manifest apply first; see `docs/security.md`.',
    ),
} satisfies Record<string, z.ZodType>

/** A Postgres server with databases of squids. */
export type SquidServer = {
  /** The name by which database rows refer to the server, so that its URL can change. */
  name: string
  /** Without the parameters `shoal_*`. */
  url: string
  /** A new database is created on the server with the highest product of its weight and the number of databases that it can still have. */
  weight: number
  /** Maximum number of databases; null: only its connections limit them. */
  maxDatabases: number | null
  /** True: only dedicated versions get databases on it. */
  isForDedicated?: boolean
}

/** The name of the server without `shoal_name`, and of the embedded one. */
export const mainServer = 'main'

const setting = 'SHOAL_SQUIDS_DATABASE_URL'
const validName = /^[a-z0-9][a-z0-9-]{0,29}$/
const maxWeight = 1_000

/**
 * Parses SHOAL_SQUIDS_DATABASE_URL: URLs separated by commas or white space, each with the optional parameters `shoal_name`, `shoal_weight`,
 * `shoal_max_databases` and `shoal_for`. Returns none if it is not set.
 * @throws InvalidSettingError; its message contains no password
 */
export function parseSquidServers(text: string | undefined): SquidServer[] {
  if (text === undefined) return []
  // A password may contain a comma.
  const servers = text
    .trim()
    .split(/[\s,]+(?=postgres(?:ql)?:\/\/)/)
    .map(parseServer)
  for (const [index, server] of servers.entries()) {
    const earlier = servers.slice(0, index)
    if (earlier.some(({ name }) => name === server.name))
      refuse(
        server.name === mainServer
          ? `${setting} has two servers without a name: add ?shoal_name=… to the URL of every server but the first.`
          : `${setting} has two servers with shoal_name=${server.name}.`,
      )
    const same = earlier.find(({ url }) => isSamePostgres(url, server.url))
    if (same) refuse(`${setting} lists the same server as ${same.name} and as ${server.name}.`)
  }
  if (servers.every(({ isForDedicated }) => isForDedicated))
    refuse(`${setting} needs a server without shoal_for=dedicated, for collocated versions.`)
  return servers
}

function parseServer(text: string, index: number): SquidServer {
  const position = `URL ${index + 1} of ${setting}`
  const url = URL.canParse(text) ? new URL(text) : null
  // Without this check, a URL in an unknown form would be parsed as the path of the URL before it.
  const isSingleUrl = !/\s/.test(text) && text.split('://').length === 2
  if (!url || !isSingleUrl || !/^postgres(ql)?:$/.test(url.protocol))
    return refuse(`${position} must be like postgres://user:password@host:5432/postgres. (Its value is not shown.)`)
  const parameters = new Map([...url.searchParams].filter(([key]) => key.startsWith('shoal_')))
  for (const key of parameters.keys()) url.searchParams.delete(key)
  const numberOf = (key: string, allowed: string, isValid: (value: number) => boolean): number | null => {
    const value = parameters.get(key)
    parameters.delete(key)
    if (value === undefined) return null
    if (!/^\d+(\.\d+)?$/.test(value) || !isValid(Number(value)))
      refuse(`${key} in ${position} is ${JSON.stringify(value)}, but must be ${allowed}.`)
    return Number(value)
  }
  const isWeight = (value: number) => value > 0 && value <= maxWeight
  const weight = numberOf('shoal_weight', `a number above 0, up to ${maxWeight}`, isWeight) ?? 1
  const maxDatabases = numberOf('shoal_max_databases', 'a whole number', Number.isSafeInteger)
  const versions = parameters.get('shoal_for')
  parameters.delete('shoal_for')
  if (versions !== undefined && versions !== 'dedicated')
    refuse(`shoal_for in ${position} is ${JSON.stringify(versions)}, but must be dedicated.`)
  const name = parameters.get('shoal_name') ?? mainServer
  parameters.delete('shoal_name')
  if (!validName.test(name))
    refuse(
      `shoal_name in ${position} is ${JSON.stringify(name)}, but must be up to 30 lower-case letters, digits and hyphens.`,
    )
  const [unknown] = parameters.keys()
  if (unknown !== undefined)
    refuse(
      `${position} has the unknown parameter ${unknown}: use shoal_name, shoal_weight, shoal_max_databases or shoal_for.`,
    )
  // A URL without these parameters stays exactly as it is.
  const server = { name, url: text.includes('shoal_') ? url.href : text, weight, maxDatabases }
  return versions === undefined ? server : { ...server, isForDedicated: true }
}

function refuse(message: string): never {
  throw new InvalidSettingError(message)
}
