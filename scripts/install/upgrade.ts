import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { installedVersion, layout, ownRelease, readSettings, setCurrent, versionOf } from './layout.ts'
import { logTail, processesFrom, run, systemctl, waitUntilReady, watchServer } from './service.ts'
import { releaseStep } from './steps.ts'

export type UpgradeOptions = {
  backsUpFirst: boolean
  isDry: boolean
  /** Time limit for the new release to become ready. */
  maxStartMs: number
  print: (line: string) => void
}

/** A release must keep running for this time after it is ready. Otherwise the upgrade fails. */
const settleMs = 20_000

/**
 * Replaces the installed release with the one that this program belongs to: backs up, and restarts the server with the new release,
 * which migrates the database. If the new release does not become ready or does not keep running, the previous release is started again:
 * it can use the newer schema, since migrations only add. Squids keep running.
 * @throws Error if the new release does not work, after the previous one has been started again
 */
export async function upgrade({ backsUpFirst, isDry, maxStartMs, print }: UpgradeOptions): Promise<void> {
  const version = versionOf(ownRelease)
  const previousVersion = installedVersion()
  if (previousVersion === null) throw new Error('Shoal is not installed here. Run: bin/shoal install')
  if (previousVersion === version) return print(`Version ${version} is already installed.`)
  const file = join(layout.backups, `shoal-before-${version}-${Date.now()}.tar`)
  const isExternal = readSettings()['DATABASE_URL'] !== undefined
  if (backsUpFirst && isExternal)
    throw new Error(
      'Postgres is external (DATABASE_URL): back it up with its own tools, then upgrade with --no-backup.',
    )
  if (isDry) {
    for (const text of [
      `copy the release to ${join(layout.releases, version)}`,
      ...(backsUpFirst ? [`back up to ${file}`] : []),
      `switch ${layout.current} from ${previousVersion} to ${version}`,
      `restart the server; squids keep running, and clients wait`,
      `return to ${previousVersion} if it is not ready within ${maxStartMs / 1000} s`,
    ])
      print(`  would  ${text}`)
    return
  }
  const release = releaseStep(ownRelease, join(layout.releases, version))
  if (!release.isDone()) await release.run()
  if (backsUpFirst) {
    print(`Backing up to ${file} …`)
    run(layout.command, ['backup', '--to', file])
  }
  print(`Replacing version ${previousVersion}; squids keep running …`)
  const problem = await switchTo(version, maxStartMs)
  if (problem === null) return print(`Version ${version} is ready.`)
  const log = logTail()
  print(`Version ${version} does not work. ${problem} Returning to ${previousVersion} …`)
  const previousProblem = await switchTo(previousVersion, maxStartMs)
  // Removes the failed release, unless Postgres runs from its folder, so that a corrected release with this version can be copied there.
  const failedRelease = join(layout.releases, version)
  if (processesFrom(failedRelease).length === 0) rmSync(failedRelease, { recursive: true, force: true })
  const state =
    previousProblem === null
      ? `Version ${previousVersion} runs again.`
      : `Version ${previousVersion}: ${previousProblem}`
  throw new Error(
    `Version ${version} was not installed. ${problem} ${state}\nThe end of the log of ${version}:\n${log}`,
  )
}

/** Restarts the server with this version. Returns null, or a sentence about why it does not work. */
async function switchTo(version: string, maxStartMs: number): Promise<string | null> {
  if (!existsSync(join(layout.releases, version))) return `${layout.releases}/${version} does not exist.`
  setCurrent(version)
  try {
    // A stop would also close the ports: see socketUnit.
    systemctl('restart', 'shoal.service')
  } catch (error) {
    return (error as Error).message
  }
  return (await waitUntilReady(version, maxStartMs)) ?? (await watchServer(settleMs))
}
