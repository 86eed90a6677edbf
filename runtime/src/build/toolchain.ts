import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, lstat, mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { HostNpm } from './npm-config.ts'
import { type Staging, moveIntoPlace, openStaging } from './staging.ts'
import { DEFAULT_NODE, NODE_TOOLS, type NodeVersion, type Tool } from './tools.ts'

/** The programs that builds and squids use, installed from npm and readable by every uid. */
export type Toolchain = {
  /** Changes whenever any part of the toolchain changes. */
  version: string
  /** Contains `sqd`, `npm` and `npx`, which require the parent directory to be readable. */
  binDir: string
  dir: string
  /** True if the version is available for this platform. */
  offers(version: NodeVersion): boolean
  /** @throws when the version is not available, or the registry cannot be reached */
  node(version: NodeVersion): Promise<InstalledNode>
  /** Installs a package manager. @throws when the registry cannot be reached */
  install(tool: Tool): Promise<InstalledTool>
}

export type InstalledNode = {
  /** The full version, such as 20.20.2. */
  version: string
  binDir: string
  /** Must be readable by programs; also contains the headers for native packages. */
  dir: string
}

/** A package manager. Programs that use it must be able to read `dir`. */
export type InstalledTool = { binDir: string; dir: string }

export type ToolchainOptions = {
  /** Installation directory; must be traversable by every uid. */
  dir: string
  npm: HostNpm
  log: (message: string) => void
}

const SOURCE = fileURLToPath(new URL('../../toolchain/', import.meta.url))
/** Part of the toolchain's version. Increase it when the layout of the toolchain's folder changes. */
const LAYOUT = '1'

/** Installs the programs that every squid needs, once per lockfile. Several servers may call it concurrently. */
export async function ensureToolchain(options: ToolchainOptions): Promise<Toolchain> {
  const packageJson = await readFile(join(SOURCE, 'package.json'), 'utf8')
  const lockfile = await readFile(join(SOURCE, 'package-lock.json'), 'utf8')
  const version = createHash('sha256').update(LAYOUT).update(lockfile).digest('hex').slice(0, 12)
  await mkdir(options.dir, { recursive: true, mode: 0o755 })
  const staging = await openStaging(join(options.dir, 'staging'))
  for (const owner of await staging.deadOwners()) {
    await staging.discardAllOf(owner)
  }
  const installer = new Installer(options, staging)
  const dir = join(options.dir, version)
  const binDir = join(dir, 'bin')
  await installer.install({
    dir,
    packageJson,
    lockfile,
    description: 'Node, npm and sqd for squids',
    finish: linkCommands,
  })
  const nodeOfToolchain = await nodeIn(dir, nodePackage(await readdir(join(dir, 'node_modules'))))
  return {
    version,
    binDir,
    dir,
    offers: (requested) => requested === DEFAULT_NODE || nodeTool(requested) !== null,
    async node(requested) {
      if (requested === DEFAULT_NODE) {
        return nodeOfToolchain
      }
      const tool = nodeTool(requested)
      if (tool === null) {
        throw new Error(`Node ${requested} is not available for ${process.platform}-${process.arch}`)
      }
      return await nodeIn(await installer.installTool(tool), tool.name)
    },
    async install(tool) {
      const toolDir = await installer.installTool(tool)
      return { dir: toolDir, binDir: join(toolDir, 'node_modules/.bin') }
    },
  }
}

type InstallRequest = {
  dir: string
  packageJson: string
  lockfile: string
  description: string
  finish: (dir: string) => Promise<void>
}

class Installer {
  #options: ToolchainOptions
  #staging: Staging
  #running = new Map<string, Promise<void>>()

  constructor(options: ToolchainOptions, staging: Staging) {
    this.#options = options
    this.#staging = staging
  }

  async installTool(tool: Tool): Promise<string> {
    const dir = join(this.#options.dir, `${tool.name.replace(/\W+/g, '-')}-${tool.version}`)
    const dependencies = { [tool.name]: tool.version }
    const packageJson = JSON.stringify({ name: 'shoal-tool', version: '1.0.0', private: true, dependencies })
    const packages = {
      '': { name: 'shoal-tool', version: '1.0.0', dependencies },
      [`node_modules/${tool.name}`]: { version: tool.version, integrity: tool.integrity, bin: tool.bin },
    }
    const lockfile = JSON.stringify({
      name: 'shoal-tool',
      version: '1.0.0',
      lockfileVersion: 3,
      requires: true,
      packages,
    })
    await this.install({
      dir,
      packageJson,
      lockfile,
      description: `${tool.name} ${tool.version}`,
      finish: async () => undefined,
    })
    return dir
  }

  /** Installs a package with its dependencies, unless its folder exists. Concurrent calls for a folder share one install. */
  async install(request: InstallRequest): Promise<void> {
    const { dir } = request
    const running = this.#running.get(dir) ?? this.#installNew(request).finally(() => this.#running.delete(dir))
    this.#running.set(dir, running)
    await running
  }

  async #installNew({ dir, packageJson, lockfile, description, finish }: InstallRequest): Promise<void> {
    if (existsSync(dir)) {
      return
    }
    this.#options.log(`Installing ${description} (once)`)
    const { path } = await this.#staging.make()
    try {
      await writeFile(join(path, 'package.json'), packageJson)
      await writeFile(join(path, 'package-lock.json'), lockfile)
      await this.#npmCi(path, description)
      await finish(path)
      await makeReadable(path)
      await moveIntoPlace(path, dir)
    } finally {
      await this.#staging.discard(path)
    }
  }

  async #npmCi(cwd: string, description: string): Promise<void> {
    const { command, env } = this.#options.npm
    const [program = 'npm', ...args] = command
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-progress', '--loglevel=error', '--omit=dev']
    try {
      await promisify(execFile)(program, [...args, 'ci', ...flags], { cwd, env, timeout: 600_000 })
    } catch (error) {
      const output = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error)
      throw new Error(`${description} could not be installed from the npm registry:\n${output.slice(-2000)}`, {
        cause: error,
      })
    }
  }
}

function nodeTool(version: Exclude<NodeVersion, typeof DEFAULT_NODE>): Tool | null {
  return NODE_TOOLS[version][`${process.platform}-${process.arch}`] ?? null
}

function nodePackage(names: string[]): string {
  const name = names.find((candidate) => candidate.startsWith('node-') && candidate.endsWith(process.arch))
  if (name === undefined) {
    throw new Error(
      `There is no Node ${DEFAULT_NODE} for ${process.platform}-${process.arch} among the toolchain's packages`,
    )
  }
  return name
}

async function nodeIn(dir: string, name: string): Promise<InstalledNode> {
  const packageDir = join(dir, 'node_modules', name)
  const { version }: { version: string } = JSON.parse(await readFile(join(packageDir, 'package.json'), 'utf8'))
  return { version: version.replace(/^v/, ''), binDir: join(packageDir, 'bin'), dir: packageDir }
}

/** Links the commands of containers, in which `sqd` is @subsquid/commands, not the client. */
async function linkCommands(dir: string): Promise<void> {
  const commands = { sqd: 'squid-commands', npm: 'npm', npx: 'npx' }
  await mkdir(join(dir, 'bin'))
  for (const [name, command] of Object.entries(commands)) {
    await symlink(join('../node_modules/.bin', command), join(dir, 'bin', name))
  }
}

/** Makes files readable by programs of other uids, regardless of the umask. */
async function makeReadable(path: string): Promise<void> {
  const stats = await lstat(path)
  if (stats.isSymbolicLink()) {
    return
  }
  const isRunnable = stats.isDirectory() || (stats.mode & 0o100) !== 0
  await chmod(path, isRunnable ? 0o755 : 0o644)
  if (stats.isDirectory()) {
    await Promise.all((await readdir(path)).map((name) => makeReadable(join(path, name))))
  }
}
