import type { Hash } from 'node:crypto'
import { existsSync, readFileSync, utimesSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { runCommand } from '../command.ts'
import { withProgress } from '../progress.ts'
import { root } from '../root.ts'
import { fillOnce, userCache } from '../user-cache.ts'

/** Returns why this machine cannot build the Go module in a folder, relative to the repository; null if it can. */
export async function missingGo(moduleFolder = 'test/kube'): Promise<string | null> {
  const needed = /^go (\d+\.\d+)/m.exec(readFileSync(resolve(root, moduleFolder, 'go.mod'), 'utf8'))?.[1] ?? ''
  const { code, output } = await runCommand(goProgram(), ['version'], { env: goEnvironment() })
  const installed = /go(\d+\.\d+)/.exec(output)?.[1]
  if (code !== 0 || !installed) return `Go ${needed} is not installed`
  return isOlder(installed, needed) ? `Go ${installed} is installed, but ${needed} is needed` : null
}

/** Returns the path of a program in the user's cache. `hash`: the hash of the program's sources. */
export const cachedProgram = (hash: Hash, name: string): string =>
  join(userCache('shoal-kube'), 'programs', hash.copy().digest('hex').slice(0, 16), name)

/**
 * Builds a program and all others of its folder, if it is not in the cache. Otherwise, only records that the folder is in use, so that it
 * is not deleted. `build` writes into the folder that it receives.
 */
export async function buildOnce(
  program: string,
  activity: string,
  build: (unfinished: string) => Promise<void>,
): Promise<void> {
  const folder = dirname(program)
  const now = new Date()
  if (existsSync(program)) return utimesSync(folder, now, now)
  await withProgress(activity, () => fillOnce(folder, (unfinished) => build(unfinished).then(() => true)))
}

type GoBuild = {
  /** The folder of the go.mod. */
  folder: string
  /** A package of the module or of one that it requires. */
  program: string
  /** The path for the built program. */
  output: string
  /** Variables that the linker sets. */
  values?: Record<string, string>
}

/** This machine cannot build a program, regardless of its sources. `message`: the reason, in one sentence. */
export class CannotBuild extends Error {
  override name = 'CannotBuild'
}

const obstacles: [RegExp, string][] = [
  [/no space left on device/, 'The disk has too little free space for a build with Go'],
  [
    /dial tcp|no such host|i\/o timeout|TLS handshake|GOPROXY=off|reading https?:|Get "https?:/,
    'The Go modules cannot be downloaded',
  ],
]

/**
 * Builds a program from its Go module.
 * @throws CannotBuild without network or disk space; Error with the output of Go if the build fails
 */
export async function goBuild({ folder, program, output, values = {} }: GoBuild): Promise<void> {
  const flags = ['-s -w', ...Object.entries(values).map(([name, value]) => `-X ${name}=${value}`)].join(' ')
  const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags', flags, '-o', output, program]
  const result = await runCommand('nice', [goProgram(), ...args], { cwd: folder, env: goEnvironment() })
  if (result.code === 0) return
  const obstacle = obstacles.find(([pattern]) => pattern.test(result.output))?.[1]
  if (obstacle) throw new CannotBuild(obstacle)
  throw new Error(`go build failed:\n${result.output.trim().slice(-3000)}`)
}

/** Returns the path of Go, or its name if it is not where it is usually installed. */
export function goProgram(): string {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/local/go/bin']
  return folders.map((folder) => join(folder, 'go')).find((path) => existsSync(path)) ?? 'go'
}

/** Returns the environment of Go. Without cgo, builds need no C compiler, and the programs run in an empty image. Go must not download another version of itself. */
export function goEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, CGO_ENABLED: '0', GOTOOLCHAIN: 'local' }
}

function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [neededMajor = 0, neededMinor = 0] = than.split('.').map(Number)
  return major < neededMajor || (major === neededMajor && minor < neededMinor)
}
