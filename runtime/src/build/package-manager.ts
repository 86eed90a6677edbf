import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BuildFailure } from '../builder.ts'
import { readTextFile } from './manifest-file.ts'
import { type ManagerTool, PNPM_TOOLS, type Tool, YARN_BERRY_TOOLS, YARN_CLASSIC } from './tools.ts'

export type ManagerName = 'npm' | 'pnpm' | 'yarn'

/** The package manager and lockfile of a squid. */
export type PackageManager = {
  kind: 'npm' | 'pnpm' | 'yarn-classic' | 'yarn-berry'
  name: ManagerName
  /** Null: the npm of the toolchain. */
  tool: Tool | null
  /** Null only if the manifest has its own install command. */
  lockfile: { name: string; text: string } | null
  /** Remarks about the choice for the user. */
  notes: string[]
}

/** The lockfiles in order of precedence. npm itself prefers the shrinkwrap. */
const LOCKFILES: { name: string; manager: ManagerName }[] = [
  { name: 'npm-shrinkwrap.json', manager: 'npm' },
  { name: 'package-lock.json', manager: 'npm' },
  { name: 'pnpm-lock.yaml', manager: 'pnpm' },
  { name: 'yarn.lock', manager: 'yarn' },
]

export type PackageManagerRequest = {
  packageManager: 'auto' | ManagerName
  /** True when the manifest's `build.install.cmd` replaces the install, so that no lockfile is required. */
  hasInstallCommand: boolean
}

/**
 * Chooses the package manager that the manifest requests; otherwise the one in the `packageManager` field of package.json, if its
 * lockfile exists; otherwise the one of the first lockfile.
 * @throws BuildFailure when there is no lockfile, or no available version reads it
 */
export async function choosePackageManager(
  root: string,
  packageJson: Record<string, unknown>,
  request: PackageManagerRequest,
): Promise<PackageManager> {
  const field = parsePackageManagerField(packageJson.packageManager)
  const lockfiles = LOCKFILES.filter(({ name }) => existsSync(join(root, name)))
  const requested = request.packageManager === 'auto' ? null : request.packageManager
  const chosen = chooseLockfile(lockfiles, requested, field?.name ?? null)
  if (chosen === null) {
    if (request.hasInstallCommand) {
      return await withTool(requested ?? field?.name ?? 'npm', null, field, [])
    }
    throw missingLockfile(requested, lockfiles[0]?.name ?? null)
  }
  const others = lockfiles.filter(({ manager }) => manager !== chosen.manager).map(({ name }) => name)
  const notes = others.length > 0 ? [`Installing from ${chosen.name}, ignoring ${others.join(' and ')}`] : []
  const text = await readTextFile(root, chosen.name, MAX_LOCKFILE_BYTES)
  if (text === null) {
    throw new BuildFailure(
      'REQUIRED_SOURCE_FILE_INVALID',
      `${chosen.name} is not a file. Put the lockfile itself into the squid’s folder.`,
    )
  }
  return await withTool(chosen.manager, { name: chosen.name, text }, field, notes)
}

const MAX_LOCKFILE_BYTES = 32 * 1024 * 1024

type Lockfile = (typeof LOCKFILES)[number]

function chooseLockfile(
  lockfiles: Lockfile[],
  requested: ManagerName | null,
  field: ManagerName | null,
): Lockfile | null {
  const lockfileOf = (manager: ManagerName) => lockfiles.find((lockfile) => lockfile.manager === manager)
  if (requested !== null) {
    return lockfileOf(requested) ?? null
  }
  return (field === null ? undefined : lockfileOf(field)) ?? lockfiles[0] ?? null
}

function missingLockfile(requested: ManagerName | null, other: string | null): BuildFailure {
  const names = { npm: 'package-lock.json', pnpm: 'pnpm-lock.yaml', yarn: 'yarn.lock' }
  const message =
    requested !== null && other !== null
      ? `The manifest requires ${requested}, but the archive contains ${other} and no ${names[requested]}. Run \`${requested} install\` in the squid’s folder, or set build.package_manager to auto.`
      : requested === null
        ? 'There is no lockfile next to package.json. Create one in the squid’s folder with the package manager you use, `npm install` (package-lock.json), `pnpm install` (pnpm-lock.yaml) or `yarn install` (yarn.lock), and deploy again. In a monorepo the squid needs its own lockfile.'
        : `There is no lockfile (${names[requested]}) next to package.json. Run \`${requested} install\` in the squid’s folder and deploy again. In a monorepo the squid needs its own lockfile.`
  return new BuildFailure('REQUIRED_SOURCE_FILE_MISSED', message)
}

type PackageManagerField = { name: ManagerName; major: number }

/** Parses the `packageManager` field, such as `pnpm@9.4.0+sha512.…`; null when it is missing or unknown. */
function parsePackageManagerField(value: unknown): PackageManagerField | null {
  const match = typeof value === 'string' ? /^(npm|pnpm|yarn)@(\d+)\./.exec(value) : null
  const name = match?.[1]
  return name === 'npm' || name === 'pnpm' || name === 'yarn' ? { name, major: Number(match?.[2]) } : null
}

async function withTool(
  name: ManagerName,
  lockfile: PackageManager['lockfile'],
  field: PackageManagerField | null,
  notes: string[],
): Promise<PackageManager> {
  const major = field?.name === name ? field.major : null
  if (name === 'npm') {
    return { kind: 'npm', name, tool: null, lockfile, notes }
  }
  if (name === 'pnpm') {
    const tool = chooseTool(PNPM_TOOLS, major, lockfile, pnpmLockfileVersion)
    return { kind: 'pnpm', name, tool, lockfile, notes }
  }
  const isBerry = lockfile === null ? (major ?? 1) > 1 : berryLockfileVersion(lockfile.text) !== null
  return isBerry
    ? {
        kind: 'yarn-berry',
        name,
        tool: chooseTool(YARN_BERRY_TOOLS, major, lockfile, berryLockfileVersion),
        lockfile,
        notes,
      }
    : { kind: 'yarn-classic', name, tool: YARN_CLASSIC, lockfile, notes }
}

/** Chooses the major version in package.json if it reads the lockfile, otherwise the latest version that does. */
function chooseTool(
  tools: ManagerTool[],
  major: number | null,
  lockfile: PackageManager['lockfile'],
  versionOf: (text: string) => number | null,
): ManagerTool {
  const version = lockfile === null ? null : versionOf(lockfile.text)
  const compatible = tools.filter((tool) => lockfile === null || (version !== null && tool.reads.includes(version)))
  const tool = compatible.find((candidate) => Number.parseInt(candidate.version, 10) === major) ?? compatible[0]
  if (tool === undefined) {
    const supported = [...new Set(tools.flatMap(({ reads }) => reads))].sort((a, b) => a - b).join(', ')
    throw new BuildFailure(
      'REQUIRED_SOURCE_FILE_INVALID',
      `${lockfile?.name ?? ''} has ${version === null ? 'an unknown format' : `format ${version}`} (supported: ${supported}). Create it again with another version of the package manager.`,
    )
  }
  return tool
}

function pnpmLockfileVersion(text: string): number | null {
  const match = /^lockfileVersion:\s*'?(\d+)/m.exec(text)
  return match === null ? null : Number(match[1])
}

function berryLockfileVersion(text: string): number | null {
  // Without `\s`, which includes line breaks: with two of them, the time would be quadratic in the number of line breaks.
  const match = /^__metadata:[ \t]*\r?\n[ \t]+version:[ \t]*"?(\d+)/m.exec(text)
  return match === null ? null : Number(match[1])
}
