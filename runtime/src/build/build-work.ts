import { chmod, chown, lchown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type OpenDisk, unlimitedDisks } from '../process/disk/disks.ts'
import type { BuildLimits } from '../builder.ts'
import type { Host } from '../process/host.ts'
import type { BuildCache } from './build-cache.ts'
import { makeBuildHome } from './build-home.ts'
import type { BuildPlan } from './build-image.ts'
import type { BuildBackend } from './build-backend.ts'
import type { BuildRun } from './build-step.ts'
import type { ImageStore } from './image-store.ts'
import type { NpmConfig } from './npm-config.ts'
import type { Staging } from './staging.ts'
import type { Toolchain } from './toolchain.ts'
import type { TreeTasks } from './tree-tasks.ts'

/** Services shared by all builds of a builder. */
export type BuilderContext = {
  backend: BuildBackend
  staging: Staging
  cache: BuildCache
  images: ImageStore
  toolchain: Toolchain
  npmConfig: NpmConfig
  trees: TreeTasks
}

/** The folders of one build. The server owns `dir` and `results`; the build's user owns `app` and `downloads`. */
export type WorkDirs = {
  /** The folder of everything that the build's programs use, on the disk of the build. */
  dir: string
  /** Results before they are moved to the cache and the images, which are on the same disk. Programs do not write to it. */
  results: string
  app: string
  /** Download cache of the package managers. */
  downloads: string
  /** The unpacked source, which no program modifies. */
  source: string
}

export type BuildWorkspace = { run: BuildRun; dirs: WorkDirs }

type HostContext = BuilderContext & { host: Host }

/** Creates the folders of a build and copies the source into `app`. The caller must close the workspace. */
export async function openWorkspace(
  context: HostContext,
  plan: BuildPlan,
): Promise<BuildWorkspace & { close(): Promise<void> }> {
  const { path: results, name } = await context.staging.make()
  await using cleanup = new AsyncDisposableStack()
  cleanup.defer(() => context.staging.discard(results))
  const disk = await openBuildDisk(context.host, results, plan.request.limits.diskBytes)
  cleanup.defer(() => disk.close())
  const workspace = await fillWorkspace(context, plan, { results, name, disk })
  const remaining = cleanup.move()
  return { ...workspace, close: () => remaining.disposeAsync() }
}

async function fillWorkspace(
  { host, toolchain, npmConfig, trees }: HostContext,
  plan: BuildPlan,
  { results, name, disk }: { results: string; name: string; disk: OpenDisk },
): Promise<BuildWorkspace> {
  const { request, node, managerTool } = plan
  const uid = host.uidOf(`build:${request.tenant}`)
  const dir = disk.fromServer(join(results, DISK_FOLDER))
  const dirs = { dir, results, app: join(dir, 'app'), downloads: join(dir, 'downloads'), source: plan.source }
  const temporary = join(dir, 'tmp')
  if (uid !== null) {
    // Only the user of this build may traverse to its files.
    for (const folder of [results, dir]) {
      await chown(folder, process.getuid?.() ?? 0, uid)
      await chmod(folder, 0o710)
    }
  }
  await trees.clone(plan.source, dirs.app, { uid, hardLinks: 'none' })
  const home = await makeBuildHome(join(dir, 'home'), npmConfig)
  for (const folder of [home.dir, temporary, dirs.downloads]) {
    await mkdir(folder, { recursive: true, mode: 0o755 })
    if (uid !== null) {
      await lchown(folder, uid, uid)
    }
  }
  const commandDirs = [managerTool?.binDir ?? [], toolchain.binDir, node.binDir, SYSTEM_PATH].flat()
  const run: BuildRun = {
    host,
    disk,
    trees,
    name,
    uid,
    manager: plan.manager,
    limits: request.limits,
    deadlineMs: Date.now() + request.limits.timeMs,
    env: {
      ...home.env,
      PATH: commandDirs.join(':'),
      TMPDIR: temporary,
      ...stepEnvironment(request.limits),
      // Native packages are compiled against the headers of this Node, without downloading them.
      npm_config_nodedir: node.dir,
    },
    readableDirs: [toolchain.dir, node.dir, ...(managerTool === null ? [] : [managerTool.dir])],
    writableDirs: [home.dir, temporary],
    log: plan.log,
    signal: request.signal,
  }
  return { run, dirs }
}

/** The folder of `results` on which the disk of a build is mounted. */
const DISK_FOLDER = 'disk'

async function openBuildDisk({ disks: hostDisks }: Host, results: string, bytes: number): Promise<OpenDisk> {
  const dir = join(results, DISK_FOLDER)
  await mkdir(dir, { mode: 0o711 })
  const disks = bytes === 0 ? unlimitedDisks(0) : hostDisks
  return await disks.open({ dir, image: join(results, 'disk.img'), bytes })
}

/** Returns the environment variables that all programs of a build have, on this host or in a cluster. */
export const stepEnvironment = ({ memoryBytes }: Pick<BuildLimits, 'memoryBytes'>): Record<string, string> => ({
  LANG: 'C.UTF-8',
  CI: 'true',
  NO_COLOR: '1',
  NODE_OPTIONS: `--max-old-space-size=${Math.floor((memoryBytes * HEAP_SHARE) / (1024 * 1024))}`,
})

/** Share of the memory limit that the heap may use, so that V8 reports a full heap before the kernel kills the process. */
const HEAP_SHARE = 0.75
const SYSTEM_PATH = ['/usr/local/bin', '/usr/bin', '/bin']
