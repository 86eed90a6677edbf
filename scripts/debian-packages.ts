import { accessSync, constants, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import { findBrowser } from './browser.ts'
import { runCommand } from './command.ts'
import { withProgress } from './progress.ts'
import { root } from './root.ts'

type DebianPackage = {
  name: string
  neededFor: string
  /** Returns the path of the package's program; null if it is not installed. */
  find: () => string | null
  /** True: the package is unpacked in node_modules, which needs no root. Installing it would start a service that listens on every address. */
  isUnpacked?: boolean
}

const unpackedDir = join(root, 'node_modules/.cache/debian')

/** Returns the folder with the files of a package that is unpacked instead of installed. */
export const unpackedFolder = (name: string): string => join(unpackedDir, name)

/** Returns the path of nginx, for tests with several gateways; null if it is not installed. */
export const findNginx = (): string | null => findProgram('nginx', [join(unpackedDir, 'nginx/usr/sbin'), '/usr/sbin'])

/** Returns the path of docker-registry, for tests with an image registry; null if it is not installed. */
export const findRegistry = (): string | null =>
  findProgram('docker-registry', [join(unpackedDir, 'docker-registry/usr/bin'), '/usr/bin'])

const systemFolders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin']

/** The packages that tests need in addition to Node and npm packages. The README lists them too. */
export const debianPackages: DebianPackage[] = [
  { name: 'bubblewrap', neededFor: 'the sandbox of squids', find: () => findProgram('bwrap') },
  { name: 'iproute2', neededFor: 'the networks of squids', find: () => findProgram('ip', systemFolders) },
  { name: 'nftables', neededFor: 'the networks of squids', find: () => findProgram('nft', systemFolders) },
  { name: 'passt', neededFor: 'the networks of squids, if Shoal runs without root', find: () => findProgram('pasta') },
  { name: 'btrfs-progs', neededFor: 'quotas of squids on btrfs', find: () => findProgram('btrfs', systemFolders) },
  { name: 'chromium', neededFor: 'the tests in a browser', find: findBrowser },
  { name: 'nginx', neededFor: 'the tests behind a load balancer', find: findNginx, isUnpacked: true },
  { name: 'docker-registry', neededFor: 'the tests with an image registry', find: findRegistry, isUnpacked: true },
]

const forCluster = (name: string, program: string): DebianPackage => ({
  name,
  neededFor: 'the test cluster',
  find: () => findProgram(basename(program), [join(unpackedDir, name, dirname(program))]),
  isUnpacked: true,
})

/** The packages of the test cluster, in addition to iproute2, nftables and docker-registry. */
const unpackedClusterPackages = [
  forCluster('containerd', 'usr/bin/containerd'),
  forCluster('runc', 'usr/sbin/runc'),
  forCluster('containernetworking-plugins', 'usr/lib/cni/ptp'),
]

/** The names of all packages that the test cluster needs. */
export const clusterPackages = [
  'iproute2',
  'nftables',
  'docker-registry',
  ...unpackedClusterPackages.map(({ name }) => name),
]

export type MissingPackage = {
  name: string
  /** A sentence for users: which package is missing, why it could not be installed or unpacked, and what to do. */
  sentence: string
  /** True if this user may install packages, but the installation failed. */
  isFailure: boolean
}

/** Installs missing packages, with progress on stderr. Returns those that could not be installed. */
export async function ensurePackages(names: string[]): Promise<MissingPackage[]> {
  const isMissing = ({ name, find }: DebianPackage) => names.includes(name) && find() === null
  const missing = [...debianPackages, ...unpackedClusterPackages].filter(isMissing)
  if (missing.length === 0) return []
  const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n']
  const hasApt = existsSync('/usr/bin/apt-get')
  const mayInstall = hasApt && (sudo.length === 0 || (await runCommand('sudo', ['-n', 'true'])).code === 0)
  const aptGet = (...args: string[]) => run([...sudo, 'apt-get', ...args])
  const updateProblem = mayInstall ? await aptGet('update', '-q') : ''
  const problems = new Map<string, string>()
  for (const required of missing) {
    if (required.isUnpacked ? !hasApt : !mayInstall) continue
    const message = `${required.isUnpacked ? 'Unpacking' : 'Installing'} ${required.name} for ${required.neededFor} (apt-get)`
    const work = required.isUnpacked
      ? () => unpack(required.name)
      : () => aptGet('install', '-y', '-q', '--no-install-recommends', required.name)
    problems.set(required.name, updateProblem + (await withProgress(message, work)))
  }
  return missing
    .filter((required) => required.find() === null)
    .map(({ name, neededFor, isUnpacked }) => {
      const obstacle = hasApt ? 'this user may not install packages' : 'this system has no apt-get'
      const problem = problems.get(name)?.trim().slice(-600)
      const failure = `${isUnpacked ? 'unpacking' : 'installing'} it failed: ${problem || 'its program was not found afterwards'}`
      const reason = problem === undefined ? obstacle : failure
      const remedy = isUnpacked
        ? `Unpack the Debian package (apt-get download, dpkg-deb --extract) in ${unpackedFolder(name)}`
        : `To install it: apt-get install ${name}`
      return {
        name,
        sentence: `${name}, for ${neededFor}, is missing: ${reason}. ${remedy}.`,
        isFailure: mayInstall,
      }
    })
}

/** Like `ensurePackages`, for required packages. @throws if one is missing, with the reason and the remedy */
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
  const folder = join(unpackedDir, name)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const problem = await run(['apt-get', 'download', '-q', name], folder)
  const [file] = readdirSync(folder).filter((entry) => entry.endsWith('.deb'))
  if (problem || !file) return problem
  const extractProblem = await run(['dpkg-deb', '--extract', file, '.'], folder)
  rmSync(join(folder, file))
  return extractProblem
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
