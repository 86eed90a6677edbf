import { lchown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Host } from '../process/host.ts'
import type { BuildCache } from './build-cache.ts'
import { makeBuildHome } from './build-home.ts'
import type { BuildPlan } from './build-image.ts'
import type { BuildRun } from './build-step.ts'
import type { ImageStore } from './image-store.ts'
import type { NpmConfig } from './npm-config.ts'
import type { Staging } from './staging.ts'
import type { Toolchain } from './toolchain.ts'
import type { TreeTasks } from './tree-tasks.ts'

/** Services shared by all builds of a builder. */
export type BuilderContext = {
  host: Host
  staging: Staging
  cache: BuildCache
  images: ImageStore
  toolchain: Toolchain
  npmConfig: NpmConfig
  trees: TreeTasks
}

/** The folders of one build. `dir` is owned by the server; `app` and `downloads` by the build's user. */
export type WorkDirs = {
  dir: string
  app: string
  /** Download cache of the package managers. */
  downloads: string
  /** The unpacked source, which no program modifies. */
  source: string
}

export type BuildWorkspace = { run: BuildRun; dirs: WorkDirs }

/** Creates the folders of a build, with the source in `app`. The caller must discard `dirs.dir`. */
export async function openWorkspace(
  { host, staging, toolchain, npmConfig, trees }: BuilderContext,
  plan: BuildPlan,
): Promise<BuildWorkspace> {
  const { path: dir, name } = await staging.make()
  const { request, node, managerTool } = plan
  const uid = host.uidOf(`build:${request.tenant}`)
  const dirs = { dir, app: join(dir, 'app'), downloads: join(dir, 'downloads'), source: plan.source }
  const temporary = join(dir, 'tmp')
  await trees.clone(plan.source, dirs.app, { uid, shares: 'nothing' })
  const home = await makeBuildHome(join(dir, 'home'), npmConfig)
  for (const folder of [home.dir, temporary, dirs.downloads]) {
    await mkdir(folder, { recursive: true, mode: 0o755 })
    if (uid !== null) {
      await lchown(folder, uid, uid)
    }
  }
  const heapMb = Math.floor((request.limits.memoryBytes * HEAP_SHARE) / (1024 * 1024))
  const commandDirs = [managerTool?.binDir ?? [], toolchain.binDir, node.binDir, SYSTEM_PATH].flat()
  const run: BuildRun = {
    host,
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
      LANG: 'C.UTF-8',
      CI: 'true',
      NO_COLOR: '1',
      NODE_OPTIONS: `--max-old-space-size=${heapMb}`,
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

/** Share of the memory limit for the heap, so that V8 reports a full heap before the kernel kills the process. */
const HEAP_SHARE = 0.75
const SYSTEM_PATH = ['/usr/local/bin', '/usr/bin', '/bin']
