import { accessSync, constants, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { findBrowser } from './browser.ts'
import { runCommand } from './command.ts'
import { withProgress } from './progress.ts'
import { root } from './root.ts'

type DebianPackage = {
  name: string
  neededFor: string
  /** Returns the path of its program, or null. */
  find: () => string | null
  /** True: unpacked in node_modules, without root, since installing it would start a service that listens on every address. */
  isUnpacked?: boolean
}

const unpackedDir = join(root, 'node_modules/.cache/debian')

/** Returns the path of nginx, for tests with several gateways, or null. */
export const findNginx = (): string | null => findProgram('nginx', [join(unpackedDir, 'usr/sbin'), '/usr/sbin'])

/** The packages that tests need besides Node and npm packages. The README lists the same ones. */
export const debianPackages: DebianPackage[] = [
  { name: 'bubblewrap', neededFor: 'the sandbox of squids', find: () => findProgram('bwrap') },
  { name: 'chromium', neededFor: 'the tests in a browser', find: findBrowser },
  { name: 'nginx', neededFor: 'the tests behind a load balancer', find: findNginx, isUnpacked: true },
]

export type MissingPackage = {
  name: string
  /** What is missing, why it could not be installed, and what to do. */
  sentence: string
  /** True: this user may install packages, but installing failed. */
  isFailure: boolean
}

/** Installs missing packages, with progress on stderr. Returns those that could not be installed. */
export async function ensurePackages(names: string[]): Promise<MissingPackage[]> {
  const isMissing = ({ name, find }: DebianPackage) => names.includes(name) && find() === null
  const missing = debianPackages.filter(isMissing)
  if (missing.length === 0) return []
  const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n']
  const hasApt = existsSync('/usr/bin/apt-get')
  const mayInstall = hasApt && (sudo.length === 0 || (await runCommand('sudo', ['-n', 'true'])).code === 0)
  const aptGet = (...args: string[]) => run([...sudo, 'apt-get', ...args])
  const problems: string[] = []
  if (mayInstall) problems.push(await aptGet('update', '-q'))
  for (const required of missing) {
    if (required.isUnpacked ? !hasApt : !mayInstall) continue
    const doing = `${required.isUnpacked ? 'Unpacking' : 'Installing'} ${required.name} for ${required.neededFor} (apt-get)`
    const work = required.isUnpacked
      ? () => unpack(required.name)
      : () => aptGet('install', '-y', '-q', '--no-install-recommends', required.name)
    problems.push(await withProgress(doing, `  Done: ${required.name}`, work))
  }
  return missing
    .filter((required) => required.find() === null)
    .map(({ name, neededFor }) => {
      const why = mayInstall ? `apt-get failed: ${problems.join('').slice(-600)}` : 'this user may not install packages'
      const sentence = `${name}, for ${neededFor}, is not installed and ${why}. To install it: apt-get install ${name}.`
      return { name, sentence, isFailure: mayInstall }
    })
}

/** As `ensurePackages`, for required packages. @throws if one is missing, with what to do */
export async function requirePackages(names: string[]): Promise<void> {
  const missing = await ensurePackages(names)
  if (missing.length > 0) throw new Error(missing.map(({ sentence }) => sentence).join('\n'))
}

/** Returns the end of the output if the command failed, otherwise an empty string. */
async function run([file = '', ...args]: string[], cwd = root): Promise<string> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const { code, output } = await runCommand(file, args, { env, cwd })
  return code === 0 ? '' : `${output.trim().slice(-500)}\n`
}

async function unpack(name: string): Promise<string> {
  rmSync(unpackedDir, { recursive: true, force: true })
  mkdirSync(unpackedDir, { recursive: true })
  const problem = await run(['apt-get', 'download', '-q', name], unpackedDir)
  const [file] = readdirSync(unpackedDir).filter((entry) => entry.endsWith('.deb'))
  if (problem || !file) return problem
  return await run(['dpkg-deb', '--extract', file, '.'], unpackedDir)
}

function findProgram(program: string, folders = (process.env['PATH'] ?? '').split(delimiter)): string | null {
  const isProgram = (path: string) => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  }
  return folders.map((folder) => join(folder, program)).find(isProgram) ?? null
}
