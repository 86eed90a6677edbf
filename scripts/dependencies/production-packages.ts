/** The fields of a package in `package-lock.json` that this file uses. */
type LockEntry = {
  name?: string
  version?: string
  license?: string
  integrity?: string
  optional?: boolean
  link?: boolean
  resolved?: string
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
  workspaces?: string[]
}

export type Lockfile = { packages: Record<string, LockEntry> }

export type ProductionPackage = {
  /** The package's folder, relative to the repository. */
  path: string
  name: string
  version: string
  /** SPDX identifier or expression; null if the package does not declare one. */
  license: string | null
  /** As in the lockfile: `sha512-<base64>`. Null for workspaces. */
  integrity: string | null
  /** True for a package that npm installs only on some platforms. */
  isOptional: boolean
  /** Paths of the packages on which it depends. */
  uses: string[]
}

/** Workspaces that contain only tests. */
const testWorkspaces = ['e2e']
/** The workspaces whose source the server runs. */
export const serverWorkspaces = ['contract', 'runtime', 'server']
/** Development dependencies that production needs: the Node that runs the server. */
const runtimeDependencies = ['node']

/**
 * Returns the packages that a running installation or the build of its console uses, ordered by path: the workspaces and all their
 * dependencies. `npm sbom --omit dev` cannot be used: it omits production packages on which a development package also depends, here zod
 * and vite (npm 11.19, github.com/npm/cli/issues/7909).
 * @param only the workspaces whose dependencies are returned; default: all except those of tests
 * @throws Error if the lockfile lacks a required package
 */
export function productionPackages({ packages }: Lockfile, only?: string[]): ProductionPackage[] {
  const workspaces = only ?? (packages['']?.workspaces ?? []).filter((name) => !testWorkspaces.includes(name))
  const found = new Map<string, ProductionPackage>()
  const visit = (path: string) => {
    const entry = packages[path]
    if (!entry || found.has(path)) return
    const uses = usedNames(entry).flatMap(([name, isRequired]) => {
      const used = resolve(packages, path, name)
      if (used === null && isRequired) throw new Error(`package-lock.json has no ${name}, which ${path} requires`)
      return used ?? []
    })
    found.set(path, {
      path,
      name: entry.name ?? path.replace(/^.*node_modules\//, ''),
      version: entry.version ?? '0.0.0',
      license: entry.license ?? null,
      integrity: entry.integrity ?? null,
      isOptional: entry.optional ?? false,
      uses: uses.toSorted(),
    })
    for (const used of uses) visit(used)
  }
  for (const path of [...workspaces, ...runtimeDependencies.map((name) => `node_modules/${name}`)]) visit(path)
  return [...found.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

/** Returns the names of a package's dependencies, and whether they must be installed. */
function usedNames(entry: LockEntry): [name: string, isRequired: boolean][] {
  const peers = Object.keys(entry.peerDependencies ?? {}).filter(
    (name) => !entry.peerDependenciesMeta?.[name]?.optional,
  )
  const required = new Set([...Object.keys(entry.dependencies ?? {}), ...peers])
  const optional = Object.keys(entry.optionalDependencies ?? {})
  return [
    ...[...required].filter((name) => !optional.includes(name)).map((name): [string, boolean] => [name, true]),
    ...optional.map((name): [string, boolean] => [name, false]),
  ]
}

/** Finds a package as Node does: in the `node_modules` of the importing package, then in those of the folders above it. Returns its path; null if there is none. */
function resolve(packages: Lockfile['packages'], from: string, name: string): string | null {
  for (let folder: string | null = from; folder !== null; folder = parentOf(folder)) {
    const path = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    const entry = packages[path]
    if (entry) return entry.link ? (entry.resolved ?? null) : path
  }
  return null
}

function parentOf(folder: string): string | null {
  if (folder === '') return null
  const at = folder.lastIndexOf('/node_modules/')
  return at < 0 ? '' : folder.slice(0, at)
}
