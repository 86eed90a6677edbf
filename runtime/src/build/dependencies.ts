import { constants, existsSync } from 'node:fs'
import { copyFile, lchown, mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { BuildFailure } from '../builder.ts'
import { errorCode } from '../error-code.ts'
import { type BuildRun, runStep } from './build-step.ts'
import type { WorkDirs } from './build-work.ts'
import { commandsOf, managerEnvironment, prepareForPrune } from './manager-commands.ts'

/** Installs into the app with the manager's own command, or the manifest's, strictly by the lockfile. */
export async function install(run: BuildRun, dirs: WorkDirs, installCommand: string[] | null): Promise<void> {
  await runStep(run, {
    step: 'install',
    command: installCommand ?? commandsOf(run.manager).install,
    cwd: dirs.app,
    env: managerEnvironment(dirs.downloads),
    writableDirs: [dirs.app, dirs.downloads],
  })
}

/** Takes the installed `node_modules` out of the app's reach, sealed; answers its bytes. The app gets its own view of it. */
export async function sealInstalled(run: BuildRun, dirs: WorkDirs, full: string): Promise<number> {
  const installed = join(dirs.app, 'node_modules')
  try {
    await rename(installed, full)
  } catch (error) {
    // A squid without dependencies has no such folder.
    if (errorCode(error) !== 'ENOENT') {
      throw error
    }
    await mkdir(full)
  }
  const bytes = await run.trees.seal(full, run.uid)
  await cloneWritable(run, full, installed)
  return bytes
}

/**
 * Lets the build's user work in `to` with a sealed tree: it may add and remove files, but a file it did not write is ours
 * and stays as it is. Where builds run as the user we are, nothing would keep them from writing, so each gets copies.
 */
export async function cloneWritable({ trees, uid }: BuildRun, sealed: string, to: string): Promise<void> {
  await trees.clone(sealed, to, { uid, shares: uid === null ? 'nothing' : 'packages' })
}

/** The same files once more, still sealed: the production tree's way into an image. */
export async function cloneReadOnly({ trees, uid }: BuildRun, sealed: string, to: string): Promise<void> {
  await trees.clone(sealed, to, { uid: null, shares: uid === null ? 'nothing' : 'everything' })
}

/**
 * Makes the sealed `production` tree out of the sealed `full` one, beside the build that goes on with the full one. When the
 * package manager cannot, the full tree serves: larger, but no reason to fail. Answers its bytes.
 */
export async function makeProduction(run: BuildRun, dirs: WorkDirs, full: string, production: string): Promise<number> {
  const place = join(dirs.dir, 'production')
  await mkdir(place)
  await copyManagersFiles(run, dirs.source, place)
  await cloneWritable(run, full, join(place, 'node_modules'))
  if (await prune(run, dirs, place)) {
    await rename(join(place, 'node_modules'), production)
  } else {
    await cloneReadOnly(run, full, production)
  }
  return await run.trees.seal(production, run.uid)
}

/** Removes development dependencies where the app itself was installed to, and puts back what that changed of the source. */
export async function pruneInPlace(run: BuildRun, dirs: WorkDirs): Promise<void> {
  await copyManagersFiles(run, dirs.source, dirs.app)
  await prune(run, dirs, dirs.app)
  await copyManagersFiles(run, dirs.source, dirs.app)
}

/** False, with a line in the log, when the package manager could not do it. */
async function prune(run: BuildRun, dirs: WorkDirs, cwd: string): Promise<boolean> {
  const { prune: command, pruneEnv } = commandsOf(run.manager)
  await prepareForPrune(run.manager, cwd)
  try {
    await runStep(run, {
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
    run.log.warn(`Development dependencies stay in the image. ${error.message}`)
    return false
  }
}

/** Fresh files in `to`, whatever is there: a build may have left links in their places. */
async function copyManagersFiles(run: BuildRun, from: string, to: string): Promise<void> {
  const { settings } = commandsOf(run.manager)
  const names = ['package.json', ...(run.manager.lockfile === null ? [] : [run.manager.lockfile.name]), ...settings]
  for (const name of names.filter((name) => existsSync(join(from, name)))) {
    const target = join(to, name)
    await rm(target, { recursive: true, force: true })
    await copyFile(join(from, name), target, constants.COPYFILE_EXCL)
    await own(target, run.uid)
  }
  await own(to, run.uid)
}

async function own(path: string, uid: number | null): Promise<void> {
  if (uid !== null) {
    await lchown(path, uid, uid)
  }
}
