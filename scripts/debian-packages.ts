import { accessSync, constants, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { findBrowser } from './browser.ts'
import { runCommand } from './command.ts'
import { withProgress } from './progress.ts'
import { root } from './root.ts'

type DebianPackage = {
  name: string
  neededFor: string
  /** The path of its program; null when it is not there. */
  find: () => string | null
  /** Only unpacked, below node_modules: installed, its service would start and listen on every address. Needs no rights. */
  isUnpacked?: boolean
}

const unpackedDir = join(root, 'node_modules/.cache/debian')

/** The nginx that tests put in front of several gateways; null when there is none. */
export const findNginx = (): string | null => findProgram('nginx', [join(unpackedDir, 'usr/sbin'), '/usr/sbin'])

/** All that the tests need beyond Node and what npm installs. The README names the same packages. */
export const debianPackages: DebianPackage[] = [
  { name: 'bubblewrap', neededFor: 'the sandbox of squids', find: () => findProgram('bwrap') },
  { name: 'chromium', neededFor: 'the tests in a browser', find: findBrowser },
  { name: 'nginx', neededFor: 'the tests behind a load balancer', find: findNginx, isUnpacked: true },
]

export type MissingPackage = {
  name: string
  /** A sentence for people: what is missing, why it could not be had, and what to do. */
  sentence: string
  /** This user may install packages, and still it failed. */
  isFailure: boolean
}

/** Installs the packages that are missing, with progress on stderr. Answers those that could not be had. */
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
  for (const wanted of missing) {
    if (wanted.isUnpacked ? !hasApt : !mayInstall) continue
    const doing = `${wanted.isUnpacked ? 'Unpacking' : 'Installing'} ${wanted.name} for ${wanted.neededFor} (apt-get)`
    const work = wanted.isUnpacked
      ? () => unpack(wanted.name)
      : () => aptGet('install', '-y', '-q', '--no-install-recommends', wanted.name)
    problems.push(await withProgress(doing, `  ${wanted.name} is there`, work))
  }
  return missing
    .filter((wanted) => wanted.find() === null)
    .map(({ name, neededFor }) => {
      const why = mayInstall ? `apt-get failed: ${problems.join('').slice(-600)}` : 'this user may not install packages'
      const sentence = `${name}, for ${neededFor}, is not installed and ${why}. To have it: apt-get install ${name}.`
      return { name, sentence, isFailure: mayInstall }
    })
}

/** As `ensurePackages`, for what cannot go on without them. @throws Error saying what to do */
export async function requirePackages(names: string[]): Promise<void> {
  const missing = await ensurePackages(names)
  if (missing.length > 0) throw new Error(missing.map(({ sentence }) => sentence).join('\n'))
}

/** Answers the end of what it printed when it failed, otherwise nothing. */
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
