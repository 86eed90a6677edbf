import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bareManifest, makeBareSquid, postgresAddon } from './bare-squid.ts'

const exampleLockfile = join(import.meta.dirname, '../../examples/erc20-transfers/package-lock.json')

/**
 * Creates the project of a squid with a database, whose only dependency is `pg`.
 *
 * @param files as for `makeBareSquid`
 * @returns the path of the project; the caller removes its parent folder
 */
export function makePgSquid(name: string, files: Record<string, string>): string {
  const packageFields = { name, version: '1.0.0', private: true, dependencies: { pg: versionOf('pg') } }
  return makeBareSquid(name, {
    'squid.yaml': bareManifest(name, postgresAddon),
    'package.json': JSON.stringify({ ...packageFields, scripts: { build: 'node --version' } }),
    'package-lock.json': JSON.stringify({
      name: packageFields.name,
      version: packageFields.version,
      lockfileVersion: 3,
      packages: { '': packageFields, ...lockEntriesOf('pg') },
    }),
    ...files,
  })
}

type LockEntry = {
  version: string
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

const lockOfExample = (): Record<string, LockEntry> =>
  (JSON.parse(readFileSync(exampleLockfile, 'utf8')) as { packages: Record<string, LockEntry> }).packages

const versionOf = (name: string): string => lockOfExample()[`node_modules/${name}`]?.version ?? '*'

/** Returns the entries of the example's lockfile for a package and its dependencies. */
function lockEntriesOf(name: string, collected: Record<string, LockEntry> = {}): Record<string, LockEntry> {
  const path = `node_modules/${name}`
  const entry = lockOfExample()[path]
  if (!entry || collected[path]) return collected
  collected[path] = entry
  for (const dependency of Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }))
    lockEntriesOf(dependency, collected)
  return collected
}
