import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cycloneDx } from '../dependencies/cyclonedx.ts'
import { productionPackages, serverWorkspaces, type Lockfile } from '../dependencies/production-packages.ts'
import { root } from '../root.ts'
import { launcher } from './launcher.ts'

/** The files and folders of a release that are outside of the workspaces. */
const otherFiles = [
  'LICENSE',
  'README.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'docs',
  'examples/erc20-transfers',
  'scripts/install',
  'scripts/root.ts',
]

/** Returns the name of a release for this platform, as in `shoal-0.2.0-linux-x64`. */
export const releaseName = (version: string): string => `shoal-${version}-${process.platform}-${process.arch}`

/**
 * Copies all files of a release to a new folder in `to`, and returns its path. Downloads nothing: it copies the packages that are
 * installed in this repository.
 * @throws Error if a production package is not installed, or has no license
 */
export function stageRelease(to: string, version: string): string {
  const folder = join(to, releaseName(version))
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(folder, 'bin'), { recursive: true })
  const lockfile = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lockfile
  for (const name of serverWorkspaces) stageWorkspace(folder, name, version)
  for (const path of otherFiles) copyTracked(folder, path)
  // Only the builds of the console and of the documentation are needed.
  copy(folder, 'console/dist')
  copy(folder, 'site/dist')
  for (const { path, isOptional } of productionPackages(lockfile, serverWorkspaces)) {
    if (serverWorkspaces.includes(path)) continue
    const isInstalled = existsSync(join(root, path, 'package.json'))
    if (!isInstalled && !isOptional) throw new Error(`${path} is not installed. Run: npm install`)
    if (isInstalled) copyPackage(folder, path)
  }
  const manifest = readJson('package.json')
  for (const key of ['scripts', 'devDependencies', 'workspaces', 'allowScripts', 'overrides']) delete manifest[key]
  writeJson(join(folder, 'package.json'), { ...manifest, version })
  // The built console contains its dependencies.
  writeFileSync(join(folder, 'sbom.cdx.json'), cycloneDx(productionPackages(lockfile), version))
  writeFileSync(join(folder, 'bin/shoal'), launcher)
  chmodSync(join(folder, 'bin/shoal'), 0o755)
  return folder
}

function stageWorkspace(folder: string, name: string, version: string): void {
  copyTracked(folder, name)
  const { devDependencies: _, ...manifest } = readJson(`${name}/package.json`)
  writeJson(join(folder, name, 'package.json'), { ...manifest, version })
  mkdirSync(join(folder, 'node_modules/@shoal'), { recursive: true })
  symlinkSync(`../../${name}`, join(folder, 'node_modules/@shoal', name))
}

/** Returns whether only tests or developers use a file of the repository. */
export const isForDevelopment = (path: string): boolean =>
  /\.test\.tsx?$|(^|\/)(testing|tests?|golden)\/|-harness\.ts$|^server\/drizzle\.config\.ts$/.test(path)

/** Copies the files below a path that git tracks, except those for development. */
function copyTracked(folder: string, path: string): void {
  const files = execFileSync('git', ['ls-files', '-z', path], { cwd: root, encoding: 'utf8' }).split('\0')
  for (const file of files) if (file !== '' && !isForDevelopment(file)) copy(folder, file)
}

function copy(folder: string, path: string): void {
  const target = join(folder, path)
  mkdirSync(dirname(target), { recursive: true })
  cpSync(join(root, path), target, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (file) => !file.endsWith('.map'),
  })
}

/** Copies a package, except files that only compilers use, and except the packages in its `node_modules`, which are copied separately if needed. */
function copyPackage(folder: string, path: string): void {
  const from = join(root, path)
  const isIncluded = (source: string) => source !== join(from, 'node_modules') && !/\.(map|d\.[cm]?ts)$/.test(source)
  cpSync(from, join(folder, path), { recursive: true, verbatimSymlinks: true, filter: isIncluded })
}

const readJson = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8')) as Record<string, unknown>

const writeJson = (file: string, value: unknown) => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)
