import { createHash } from 'node:crypto'
import { chmodSync, createReadStream, existsSync, globSync, mkdirSync, mkdtempSync } from 'node:fs'
import { readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Image } from '../runtime/src/builder.ts'
import { createBuilder } from '../runtime/src/build/create-builder.ts'
import { hostBackend } from '../runtime/src/build/host-backend.ts'
import { readNpmConfig } from '../runtime/src/build/npm-config.ts'
import { ensureToolchain } from '../runtime/src/build/toolchain.ts'
import { removeCgroupBase } from '../runtime/src/process/cgroup.ts'
import { prepareHost } from '../runtime/src/process/host.ts'
import { runCommand } from './command.ts'
import { withProgress } from './progress.ts'
import { root } from './root.ts'

const example = join(root, 'examples/erc20-transfers')
/** The files from which the squid is built. When one changes, the tests build the squid again. */
const sources = [
  'examples/erc20-transfers/{*.json,squid.yaml,src/**/*.ts}',
  'runtime/src/build/dependency-key.ts',
  'runtime/toolchain/*.json',
]
const cacheDir = join(root, 'node_modules/.cache/test-squid')
const limits = { memoryBytes: 2 ** 30, cpuCores: 2, timeMs: 600_000, diskBytes: 0 }

/**
 * Builds the example squid, and creates `dir`, which must not exist, with the results: `dependencies/<key>` from the builder's cache,
 * and `lib`, the output of the build script. With these, a test that needs a built squid saves half a minute.
 *
 * @param toolchainDir the folder created by `installTestToolchain`
 * @throws Error when the squid cannot be built
 */
export async function installTestSquid(dir: string, toolchainDir: string): Promise<void> {
  const built = join(cacheDir, hashOfSources())
  if (!existsSync(built))
    await withProgress('Building the example squid for the tests', () => build(built, toolchainDir))
  await run('sh', ['-c', 'cp -al "$0" "$1" 2>/dev/null || cp -a "$0" "$1"', built, dir])
}

function hashOfSources(): string {
  const hash = createHash('sha256')
  for (const file of globSync(sources, { cwd: root }).sort()) hash.update(file).update(readFileSync(join(root, file)))
  return hash.digest('hex').slice(0, 20)
}

async function build(built: string, toolchainDir: string): Promise<void> {
  rmSync(cacheDir, { recursive: true, force: true })
  mkdirSync(cacheDir, { recursive: true })
  // A folder next to the toolchain, since the users that run builds may not be allowed to enter the repository's folder.
  const stateDir = mkdtempSync(join(dirname(toolchainDir), 'squid-'))
  chmodSync(stateDir, 0o711)
  try {
    const { image } = await buildIn(stateDir, toolchainDir)
    const staging = join(cacheDir, 'incomplete')
    mkdirSync(staging)
    const [deps = ''] = globSync('builds/cache/*/deps', { cwd: stateDir })
    await run('cp', ['-a', join(stateDir, deps), join(staging, 'dependencies')])
    await run('cp', ['-a', join(stateDir, 'images', image, 'app/lib'), join(staging, 'lib')])
    renameSync(staging, built)
  } finally {
    rmSync(stateDir, { recursive: true, force: true, maxRetries: 10 })
  }
}

async function buildIn(stateDir: string, toolchainDir: string): Promise<Image> {
  const env = Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => !!entry[1]))
  const npm = { command: ['npm'], env }
  const archive = join(stateDir, 'squid.tar.gz')
  const excluded = ['node_modules', 'lib', 'builds'].map((name) => `--exclude=./${name}`)
  await run('tar', ['-czf', archive, ...excluded, '-C', example, '.'])
  const host = await prepareHost({ stateDir })
  const [toolchain, npmConfig] = await Promise.all([
    ensureToolchain({ dir: toolchainDir, npm, log: () => undefined }),
    readNpmConfig(npm),
  ])
  const builder = await createBuilder({
    dir: join(stateDir, 'builds'),
    imagesDir: join(stateDir, 'images'),
    backend: hostBackend(host),
    toolchain,
    npmConfig,
    concurrency: 1,
    maxCacheBytes: 10e9,
    removeAfterMs: 0,
  })
  const log: string[] = []
  try {
    await builder.unpack({
      key: 'squid',
      archive: () => createReadStream(archive),
      manifestPath: 'squid.yaml',
      limits: { totalBytes: 50e6, files: 1000, ratio: 100 },
    })
    return await builder.build({
      key: 'squid',
      tenant: 'tests',
      nodeVersion: '20',
      packageManager: 'auto',
      installCommand: null,
      buildCommand: null,
      limits,
      log: (_, message) => log.push(message),
      signal: new AbortController().signal,
    })
  } catch (error) {
    throw new Error(`The example squid could not be built:\n${log.slice(-30).join('\n')}`, { cause: error })
  } finally {
    if (host.cgroups) await removeCgroupBase(host.cgroups)
  }
}

async function run(command: string, args: string[]): Promise<void> {
  const { code, output } = await runCommand(command, args)
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${output}`)
}
