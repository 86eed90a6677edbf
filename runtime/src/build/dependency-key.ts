import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { commandsOf } from './manager-commands.ts'
import { readTextFile } from './manifest-file.ts'
import type { PackageManager } from './package-manager.ts'

/** The inputs that determine the result of an install. */
export type DependencyInputs = {
  /** The unpacked source. */
  root: string
  packageJson: Record<string, unknown>
  manager: PackageManager
  nodeVersion: string
  /** Version of the toolchain, whose npm may run the install. */
  toolchainVersion: string
  hasInstallCommand: boolean
}

export type DependencyKey = { key: string; reason: null } | { key: null; reason: string }

/** Part of each key. Increase it when the format of stored dependencies changes. */
const FORMAT = 1

/** The fields of package.json that affect an install. */
const FIELDS = [
  'dependencies',
  'devDependencies',
  'optionalDependencies',
  'peerDependencies',
  'peerDependenciesMeta',
  'bundleDependencies',
  'bundledDependencies',
  'overrides',
  'resolutions',
  'dependenciesMeta',
  'pnpm',
  'engines',
  'packageManager',
]
/** Scripts of the squid that npm, pnpm and yarn run during an install. */
const INSTALL_SCRIPTS = [
  'preinstall',
  'install',
  'postinstall',
  'prepublish',
  'preprepare',
  'prepare',
  'postprepare',
  'dependencies',
]

/**
 * Computes the cache key of installed dependencies. Returns null and the reason when the result of the install depends on more
 * than the lockfile and the configuration files, or is not limited to the root's node_modules.
 */
export async function dependencyKey(inputs: DependencyInputs): Promise<DependencyKey> {
  const { root, packageJson, manager } = inputs
  const settings: Record<string, string | null> = {}
  for (const name of commandsOf(manager).configFiles) {
    settings[name] = await readTextFile(root, name)
  }
  const reason = reasonNotToCache(inputs, settings)
  if (reason !== null) {
    return { key: null, reason }
  }
  const fields = FIELDS.map((field) => packageJson[field] ?? null)
  const parts = [
    FORMAT,
    `${process.platform}-${process.arch}`,
    inputs.nodeVersion,
    inputs.toolchainVersion,
    manager.kind,
    manager.tool?.version ?? null,
    manager.lockfile,
    fields,
    settings,
  ]
  return { key: createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32), reason: null }
}

function reasonNotToCache(
  { root, packageJson, manager, hasInstallCommand }: DependencyInputs,
  settings: Record<string, string | null>,
): string | null {
  const script = INSTALL_SCRIPTS.find((name) => scriptOf(packageJson, name) !== null)
  const reasons: [boolean, string][] = [
    [hasInstallCommand, 'the manifest has its own install command'],
    [script !== undefined, `package.json has a script “${script ?? ''}”`],
    [existsSync(join(root, 'binding.gyp')), 'the squid has a binding.gyp'],
    [packageJson.workspaces !== undefined, 'package.json has workspaces'],
    [/^packages:/m.test(settings['pnpm-workspace.yaml'] ?? ''), 'pnpm-workspace.yaml has packages'],
    [existsSync(join(root, '.pnpmfile.cjs')), 'the squid has a .pnpmfile.cjs'],
    [/^plugins:/m.test(settings['.yarnrc.yml'] ?? ''), '.yarnrc.yml has plugins'],
    [hasLocalDependency(packageJson, manager), 'a dependency is located in the squid’s own folder'],
  ]
  return reasons.find(([applies]) => applies)?.[1] ?? null
}

/** True if a package or patch is on the local disk, in any notation of the package managers. */
function hasLocalDependency(packageJson: Record<string, unknown>, manager: PackageManager): boolean {
  const declared = JSON.stringify(FIELDS.map((field) => packageJson[field]))
  // yarn applies built-in patches to a few packages. A part ends at the next `patch:`, so that no character is read twice.
  const locked = (manager.lockfile?.text ?? '').replace(/patch:(?:(?!patch:|builtin<)[^"\n])*builtin<[^"\n]*/g, '')
  const isDeclared = /"(file|link|portal|workspace|patch|exec):|"\.{1,2}\/|"~?\/|patchedDependencies/.test(declared)
  const isLocked = /"resolved": "(file:|\.)|"link": true|directory: |\b(file|link|portal|patch|exec):\S/.test(locked)
  return isDeclared || isLocked
}

/** Returns a script of package.json; null when it is missing. */
export function scriptOf(packageJson: Record<string, unknown>, name: string): string | null {
  const { scripts } = packageJson
  const script: unknown = typeof scripts === 'object' && scripts !== null ? Reflect.get(scripts, name) : null
  return typeof script === 'string' && script !== '' ? script : null
}
