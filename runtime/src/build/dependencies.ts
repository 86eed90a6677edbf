import { constants, existsSync } from 'node:fs'
import { copyFile, lchown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BuildFailure } from '../builder.ts'
import { errorCode } from '../error-code.ts'
import { type BuildRun, runBuildStep, sealResult } from './build-step.ts'
import type { WorkDirs } from './build-work.ts'
import {
  commandsOf,
  managerEnvironment,
  needsProductionPackageJson,
  productionPackageJson,
} from './manager-commands.ts'

/** Installs the dependencies strictly from the lockfile, or with the manifest's install command. */
export async function install(run: BuildRun, dirs: WorkDirs, installCommand: string[] | null): Promise<void> {
  await runBuildStep(run, {
    step: 'install',
    command: installCommand ?? commandsOf(run.manager).install,
    cwd: dirs.app,
    env: managerEnvironment(dirs.downloads),
    writableDirs: [dirs.app, dirs.downloads],
  })
}

/** Moves the installed `node_modules` to `full`, seals that tree, and clones it into the app. */
export async function sealInstalled(run: BuildRun, dirs: WorkDirs, full: string): Promise<void> {
  const installed = join(dirs.app, 'node_modules')
  try {
    await rename(installed, full)
  } catch (error) {
    // A squid without dependencies has no node_modules.
    if (errorCode(error) !== 'ENOENT') {
      throw error
    }
    await mkdir(full)
  }
  await sealResult(run, full)
  await cloneWritable(run, full, installed)
}

/**
 * Clones a sealed tree for the build's user, who may add and remove files but not modify shared ones. A build that runs as the
 * server's user gets copies, since it could write to shared files.
 */
export async function cloneWritable({ trees, uid }: BuildRun, sealed: string, to: string): Promise<void> {
  await trees.clone(sealed, to, { uid, hardLinks: uid === null ? 'none' : 'packages' })
}

/** Clones a sealed tree; the clone is sealed, too. */
export async function cloneReadOnly({ trees, uid }: BuildRun, sealed: string, to: string): Promise<void> {
  await trees.clone(sealed, to, { uid: null, hardLinks: uid === null ? 'none' : 'all' })
}

/**
 * Creates the sealed `production` tree from the sealed `full` one, concurrently with the build. If the package manager fails to
 * prune, uses the full tree, which is larger but works. Resolves with the size of the production tree in bytes.
 */
export async function createProductionTree(
  run: BuildRun,
  dirs: WorkDirs,
  full: string,
  production: string,
): Promise<number> {
  const workDir = join(dirs.dir, 'production')
  await mkdir(workDir)
  await cloneWritable(run, full, join(workDir, 'node_modules'))
  // Last, because it gives the folder to the user of the build script, which is running.
  await copyManagerFiles(run, dirs.source, workDir, 'prune')
  if (await prune(run, dirs, workDir)) {
    await rename(join(workDir, 'node_modules'), production)
  } else {
    await cloneReadOnly(run, full, production)
  }
  return await sealResult(run, production)
}

/** Removes development dependencies in the app's folder and restores source files that the package manager changed. */
export async function pruneInPlace(run: BuildRun, dirs: WorkDirs): Promise<void> {
  await copyManagerFiles(run, dirs.source, dirs.app, 'prune')
  await prune(run, dirs, dirs.app)
  await copyManagerFiles(run, dirs.source, dirs.app, 'restore')
}

/** Removes development dependencies in `cwd`. Logs a failure of the package manager, and returns false. */
async function prune(run: BuildRun, dirs: WorkDirs, cwd: string): Promise<boolean> {
  const { prune: command, pruneEnv } = commandsOf(run.manager)
  try {
    await runBuildStep(run, {
      step: 'prune',
      command,
      cwd,
      env: { ...managerEnvironment(dirs.downloads), ...pruneEnv },
      writableDirs: [cwd, dirs.downloads],
      isQuiet: true,
    })
    return true
  } catch (error) {
    if (!(error instanceof BuildFailure)) {
      throw error
    }
    run.log.warn(`Development dependencies remain in the image. ${error.message}`)
    return false
  }
}

/**
 * Copies package.json, the lockfile and the configuration files; for `prune`, with a package.json that leaves only production dependencies.
 * Deletes the existing files in `to` first and never opens them, since a build may replace them with links at any time.
 */
async function copyManagerFiles(run: BuildRun, from: string, to: string, use: 'prune' | 'restore'): Promise<void> {
  const { configFiles } = commandsOf(run.manager)
  const names = ['package.json', ...(run.manager.lockfile === null ? [] : [run.manager.lockfile.name]), ...configFiles]
  for (const name of names.filter((name) => existsSync(join(from, name)))) {
    const target = join(to, name)
    await rm(target, { recursive: true, force: true })
    if (use === 'prune' && name === 'package.json' && needsProductionPackageJson(run.manager)) {
      const packageJson = JSON.parse(await readFile(join(from, name), 'utf8')) as Record<string, unknown>
      await writeFile(target, JSON.stringify(productionPackageJson(run.manager, packageJson), null, 2), { flag: 'wx' })
    } else {
      await copyFile(join(from, name), target, constants.COPYFILE_EXCL)
    }
    await setOwner(target, run.uid)
  }
  await setOwner(to, run.uid)
}

async function setOwner(path: string, uid: number | null): Promise<void> {
  if (uid !== null) {
    await lchown(path, uid, uid)
  }
}
