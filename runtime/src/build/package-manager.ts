import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BuildFailure } from '../builder.ts'
import { quoted } from './archive-rules.ts'
import { readTextFile } from './manifest-file.ts'
import { type ManagerTool, PNPM_TOOLS, type Tool, YARN_BERRY_TOOLS, YARN_CLASSIC } from './tools.ts'

export type ManagerName = 'npm' | 'pnpm' | 'yarn'

/** Which package manager installs a squid, and from what. */
export type PackageManager = {
  kind: 'npm' | 'pnpm' | 'yarn-classic' | 'yarn-berry'
  name: ManagerName
  /** Null: the npm of the toolchain. */
  tool: Tool | null
  /** Null only where the manifest has its own install command. */
  lockfile: { name: string; text: string } | null
  /** What the user should know about the choice. */
  notes: string[]
}

/** In the order in which they are taken when there are several; npm prefers its shrinkwrap itself. */
const LOCKFILES: { name: string; manager: ManagerName }[] = [
  { name: 'npm-shrinkwrap.json', manager: 'npm' },
  { name: 'package-lock.json', manager: 'npm' },
  { name: 'pnpm-lock.yaml', manager: 'pnpm' },
  { name: 'yarn.lock', manager: 'yarn' },
]

export type PackageManagerRequest = {
  packageManager: 'auto' | ManagerName
  /** True when the manifest's `build.install.cmd` replaces the install: then a lockfile may be missing. */
  hasInstallCommand: boolean
}

/**
 * Chooses by manifest, then lockfile, then the `packageManager` field of package.json.
 * @throws BuildFailure when there is no lockfile, or none of our versions reads it
 */
export async function choosePackageManager(
  root: string,
  packageJson: Record<string, unknown>,
  desired: PackageManagerRequest,
): Promise<PackageManager> {
  const field = parseField(packageJson.packageManager)
  const found = LOCKFILES.filter(({ name }) => existsSync(join(root, name)))
  const asked = desired.packageManager === 'auto' ? null : desired.packageManager
  const taken = takeLockfile(found, asked, field?.name ?? null)
  if (taken === null) {
    if (desired.hasInstallCommand) {
      return await withTool(asked ?? field?.name ?? 'npm', null, field, [])
    }
    throw missingLockfile(asked, found[0]?.name ?? null)
  }
  const others = found.filter(({ manager }) => manager !== taken.manager).map(({ name }) => name)
  const notes = others.length > 0 ? [`Installing from ${taken.name}; ${others.join(' and ')} is not used`] : []
  const text = await readTextFile(root, taken.name, MAX_LOCKFILE_BYTES)
  if (text === null) {
    throw new BuildFailure(
      'REQUIRED_SOURCE_FILE_INVALID',
      `${taken.name} is not a file. Put the lockfile itself into the squid’s folder.`,
    )
  }
  return await withTool(taken.manager, { name: taken.name, text }, field, notes)
}

const MAX_LOCKFILE_BYTES = 32 * 1024 * 1024

type Found = (typeof LOCKFILES)[number]

function takeLockfile(found: Found[], asked: ManagerName | null, field: ManagerName | null): Found | null {
  const of = (manager: ManagerName) => found.find((lockfile) => lockfile.manager === manager)
  if (asked !== null) {
    return of(asked) ?? null
  }
  return (field === null ? undefined : of(field)) ?? found[0] ?? null
}

function missingLockfile(asked: ManagerName | null, other: string | null): BuildFailure {
  const names = { npm: 'package-lock.json', pnpm: 'pnpm-lock.yaml', yarn: 'yarn.lock' }
  const message =
    asked !== null && other !== null
      ? `The manifest asks for ${asked}, but the archive holds ${other} and no ${names[asked]}. Run \`${asked} install\` in the squid’s folder, or set build.package_manager to auto.`
      : asked === null
        ? 'There is no lockfile beside package.json. Make one in the squid’s folder with the package manager you use, `npm install` (package-lock.json), `pnpm install` (pnpm-lock.yaml) or `yarn install` (yarn.lock), and deploy again. In a monorepo the squid needs a lockfile of its own.'
        : `There is no lockfile (${names[asked]}) beside package.json. Run \`${asked} install\` in the squid’s folder and deploy again. In a monorepo the squid needs a lockfile of its own.`
  return new BuildFailure('REQUIRED_SOURCE_FILE_MISSED', message)
}

type Field = { name: ManagerName; major: number }

/** Of Node's `packageManager`, such as `pnpm@9.4.0+sha512.…`; null when it says nothing of use. */
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

/** The version that package.json names where it reads the lockfile, else the newest that does. */
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
      `${lockfile?.name ?? ''} has format ${quoted(String(version))}; ${known} can be installed here. Make it anew with another version of the package manager.`,
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
