import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import { runCommand } from '../command.ts'
import { withProgress } from '../progress.ts'
import { root } from '../root.ts'
import { fillOnce, userCache } from '../user-cache.ts'

/** Paths of the programs built from `test/kube`: `kube` is every part of Kubernetes, `pod` the program of the cluster's image. */
export type Programs = { kube: string; pod: string }

const sourceFolder = join(root, 'test/kube')
const unusedMs = 7 * 24 * 60 * 60 * 1000

/** Returns why the programs are not in the cache and cannot be built; null if they are or can be. */
export async function missingPrograms(): Promise<string | null> {
  return existsSync(cachedPrograms().kube) ? null : missingGo()
}

/** Returns why this machine cannot build `test/kube`, or null if it can. */
export async function missingGo(): Promise<string | null> {
  const needed = /^go (\d+\.\d+)/m.exec(readFileSync(join(sourceFolder, 'go.mod'), 'utf8'))?.[1] ?? ''
  const { code, output } = await runCommand(goProgram(), ['version'], { env: goEnvironment() })
  const installed = /go(\d+\.\d+)/.exec(output)?.[1]
  if (code !== 0 || !installed) return `Go ${needed} is not installed`
  return isOlder(installed, needed) ? `Go ${installed} is installed, but ${needed} is needed` : null
}

/**
 * Returns the programs from the user's cache, where they are built once for each state of the sources. With empty Go caches, that takes ten minutes
 * on two cores and downloads 850 MB of modules.
 * @throws with the output of Go if the build fails
 */
export async function buildPrograms(): Promise<Programs> {
  const programs = cachedPrograms()
  const folder = dirname(programs.kube)
  const now = new Date()
  if (existsSync(programs.kube)) utimesSync(folder, now, now)
  else await withProgress('Building Kubernetes from its Go modules', 'Built Kubernetes', () => fillOnce(folder, build))
  removeUnused(dirname(folder))
  return programs
}

/** The user's cache of the programs. */
export const cacheFolder = (): string => userCache('shoal-kube')

function cachedPrograms(): Programs {
  const hash = createHash('sha256')
  for (const file of globSync(['go.mod', 'go.sum', '**/*.go'], { cwd: sourceFolder }).toSorted()) {
    if (!file.endsWith('_test.go')) hash.update(`${file}\n`).update(readFileSync(join(sourceFolder, file)))
  }
  const folder = join(cacheFolder(), 'programs', hash.digest('hex').slice(0, 16))
  return { kube: join(folder, 'kube'), pod: join(folder, 'pod') }
}

async function build(unfinished: string): Promise<boolean> {
  const version = /k8s\.io\/kubernetes (v1\.(\d+)\.\d+)/.exec(readFileSync(join(sourceFolder, 'go.mod'), 'utf8'))
  const [, full = '', minor = ''] = version ?? []
  // Without these, the programs report version 0.
  const values = {
    'k8s.io/component-base/version.gitVersion': full,
    'k8s.io/component-base/version.gitMajor': '1',
    'k8s.io/component-base/version.gitMinor': minor,
    'k8s.io/client-go/pkg/version.gitVersion': full,
  }
  const flags = Object.entries(values).map(([name, value]) => `-X ${name}=${value}`)
  for (const target of ['.', './pod']) {
    const output = join(unfinished, target === '.' ? 'kube' : basename(target))
    const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags', `-s -w ${flags.join(' ')}`, '-o', output, target]
    const result = await runCommand('nice', [goProgram(), ...args], { cwd: sourceFolder, env: goEnvironment() })
    if (result.code !== 0) throw new Error(`go build failed:\n${result.output.trim().slice(-3000)}`)
  }
  return true
}

function removeUnused(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const unusedFor = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
    if (unusedFor > unusedMs) rmSync(path, { recursive: true, force: true })
  }
}

/** Returns the path of Go, or its name if it is not where it is usually installed. */
export function goProgram(): string {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/local/go/bin']
  return folders.map((folder) => join(folder, 'go')).find((path) => existsSync(path)) ?? 'go'
}

/** Without cgo no C compiler is needed, and the programs run in an empty image. Go must not download another version of itself. */
export function goEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, CGO_ENABLED: '0', GOTOOLCHAIN: 'local' }
}

function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [neededMajor = 0, neededMinor = 0] = than.split('.').map(Number)
  return major < neededMajor || (major === neededMajor && minor < neededMinor)
}
