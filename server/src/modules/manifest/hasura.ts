import type { ProvidedProgram } from '@shoal/runtime'
import { hasuraPort } from '../containers.ts'
import type { Variables } from './environment.ts'
import type { ScaleProfile } from './profiles.ts'

/** The addon `hasura` of a manifest. */
export type HasuraPlan = { version: string | null; replicas: number; profile: ScaleProfile }

const adminSecretVariable = 'HASURA_GRAPHQL_ADMIN_SECRET'
const databaseVariable = 'HASURA_GRAPHQL_DATABASE_URL'
const portVariable = 'HASURA_GRAPHQL_SERVER_PORT'

/**
 * The maximum number of connections of one instance to the database. Hasura's default of 50 would leave too few for the other programs
 * of the version.
 */
export const hasuraConnections = 10

/** How an installation runs Hasura: the operator's image, or a file of the host. */
export type HasuraProgram = { image: string } | { file: string }

/** Returns the program to run and its arguments. Hasura's images have a default command; the executable needs the subcommand `serve`. */
export const hasuraCommand = (program: HasuraProgram): { command: string[]; provided: ProvidedProgram } =>
  'file' in program
    ? { command: ['serve'], provided: { file: program.file, portVariable } }
    : { command: [], provided: program }

/**
 * Returns the environment of Hasura, in the variables that its documentation names. The manifest may change the number of connections
 * and telemetry; the platform determines the port, and the database if the version has one.
 */
export function hasuraEnvironment(
  program: HasuraProgram,
  manifest: Variables,
  databaseUrl: string | undefined,
): Variables {
  return {
    HASURA_GRAPHQL_PG_CONNECTIONS: String(hasuraConnections),
    HASURA_GRAPHQL_ENABLE_TELEMETRY: 'false',
    ...manifest,
    ...(databaseUrl === undefined ? {} : { [databaseVariable]: databaseUrl }),
    [portVariable]: String(hasuraPort),
    // A Hasura that runs on the host is reached through the driver's forwarder on loopback.
    ...('file' in program ? { HASURA_GRAPHQL_SERVER_HOST: '127.0.0.1' } : {}),
  }
}

/** Returns what an environment of Hasura lacks, as a sentence; null if it is complete. `variables`: those that the manifest sets. */
export function missingForHasura(variables: Variables, hasPostgres: boolean): string | null {
  if (!variables[adminSecretVariable])
    return `Set ${adminSecretVariable} in deploy.addons.hasura.env, for example to \${{ secrets.${adminSecretVariable} }}. Without it, everyone could change the data of the squid.`
  const databases = [databaseVariable, 'HASURA_GRAPHQL_METADATA_DATABASE_URL']
  if (!hasPostgres && !databases.some((name) => variables[name]))
    return 'Hasura needs a database. Add the addon postgres to the manifest.'
  return null
}
