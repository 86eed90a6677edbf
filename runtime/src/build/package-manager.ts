import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BuildFailure } from '../builder.ts'
import { quoted } from './archive-rules.ts'
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

/** In order of precedence; npm itself prefers its shrinkwrap. */
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
 * Chooses by manifest, then lockfile, then the `packageManager` field of package.json.
 * @throws BuildFailure when there is no lockfile, or no available version reads it
 */
export async function choosePackageManager(
  root: string,
  packageJson: Record<string, unknown>,
  desired: PackageManagerRequest,
): Promise<PackageManager> {
  const field = parseField(packageJson.packageManager)
  const found = LOCKFILES.filter(({ name }) => existsSync(join(root, name)))
  const requested = desired.packageManager === 'auto' ? null : desired.packageManager
  const chosen = chooseLockfile(found, requested, field?.name ?? null)
  if (chosen === null) {
    if (desired.hasInstallCommand) {
      return await withTool(requested ?? field?.name ?? 'npm', null, field, [])
    }
    throw missingLockfile(requested, found[0]?.name ?? null)
  }
  const others = found.filter(({ manager }) => manager !== chosen.manager).map(({ name }) => name)
  const notes = others.length > 0 ? [`Installing from ${chosen.name}; ${others.join(' and ')} is not used`] : []
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

type Found = (typeof LOCKFILES)[number]

function chooseLockfile(found: Found[], requested: ManagerName | null, field: ManagerName | null): Found | null {
  const of = (manager: ManagerName) => found.find((lockfile) => lockfile.manager === manager)
  if (requested !== null) {
    return of(requested) ?? null
  }
  return (field === null ? undefined : of(field)) ?? found[0] ?? null
}

function missingLockfile(requested: ManagerName | null, other: string | null): BuildFailure {
  const names = { npm: 'package-lock.json', pnpm: 'pnpm-lock.yaml', yarn: 'yarn.lock' }
  const message =
    requested !== null && other !== null
      ? `The manifest requires ${requested}, but the archive contains ${other} and no ${names[requested]}. Run \`${requested} install\` in the squid’s folder, or set build.package_manager to auto.`
      : requested === null
        ? 'There is no lockfile beside package.json. Create one in the squid’s folder with the package manager you use, `npm install` (package-lock.json), `pnpm install` (pnpm-lock.yaml) or `yarn install` (yarn.lock), and deploy again. In a monorepo the squid needs a lockfile of its own.'
        : `There is no lockfile (${names[requested]}) beside package.json. Run \`${requested} install\` in the squid’s folder and deploy again. In a monorepo the squid needs a lockfile of its own.`
  return new BuildFailure('REQUIRED_SOURCE_FILE_MISSED', message)
}

type Field = { name: ManagerName; major: number }

/** Parses the `packageManager` field, such as `pnpm@9.4.0+sha512.…`; null when it is missing or unknown. */
function parseField(value: unknown): Field | null {
  const match = typeof value === 'string' ? /^(npm|pnpm|yarn)@(\d+)\./.exec(value) : null
  const name = match?.[1]
  return name === 'npm' || name === 'pnpm' || name === 'yarn' ? { name, major: Number(match?.[2]) } : null
}

async function withTool(
  name: ManagerName,
  lockfile: PackageManager['lockfile'],
  field: Field | null,
  notes: string[],
): Promise<PackageManager> {
  const major = field?.name === name ? field.major : null
  if (name === 'npm') {
    return { kind: 'npm', name, tool: null, lockfile, notes }
  }
  if (name === 'pnpm') {
    const tool = pick(PNPM_TOOLS, major, lockfile, pnpmLockfileVersion)
    return { kind: 'pnpm', name, tool, lockfile, notes }
  }
  const isBerry = lockfile === null ? (major ?? 1) > 1 : berryLockfileVersion(lockfile.text) !== null
  return isBerry
    ? { kind: 'yarn-berry', name, tool: pick(YARN_BERRY_TOOLS, major, lockfile, berryLockfileVersion), lockfile, notes }
    : { kind: 'yarn-classic', name, tool: YARN_CLASSIC, lockfile, notes }
}

/** The version in package.json if it reads the lockfile, otherwise the latest that does. */
function pick(
  tools: ManagerTool[],
  major: number | null,
  lockfile: PackageManager['lockfile'],
  versionOf: (text: string) => number | null,
): ManagerTool {
  const version = lockfile === null ? null : versionOf(lockfile.text)
  const able = tools.filter((tool) => lockfile === null || (version !== null && tool.reads.includes(version)))
  const tool = able.find((candidate) => Number.parseInt(candidate.version, 10) === major) ?? able[0]
  if (tool === undefined) {
    const known = [...new Set(tools.flatMap(({ reads }) => reads))].sort((a, b) => a - b).join(', ')
    throw new BuildFailure(
      'REQUIRED_SOURCE_FILE_INVALID',
      `${lockfile?.name ?? ''} has format ${quoted(String(version))}; ${known} are supported. Create it again with another version of the package manager.`,
    )
  }
  return tool
}

function pnpmLockfileVersion(text: string): number | null {
  const match = /^lockfileVersion:\s*'?(\d+)/m.exec(text)
  return match === null ? null : Number(match[1])
}

function berryLockfileVersion(text: string): number | null {
  const match = /^__metadata:\s*\n\s+version:\s*"?(\d+)/m.exec(text)
  return match === null ? null : Number(match[1])
}
