import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { installedVersion, layout, ownRelease, readSettings, setCurrent, versionOf } from './layout.ts'
import { logTail, processesFrom, run, systemctl, waitUntilReady, watchServer } from './service.ts'
import { releaseStep } from './steps.ts'

export type UpgradeOptions = {
  hasBackup: boolean
  isDry: boolean
  /** Time limit for the new release to become ready. */
  maxStartMs: number
  print: (line: string) => void
}

/** A release must keep running for this time after it is ready. Otherwise the upgrade fails. */
const settleMs = 20_000

/**
 * Replaces the installed release with the one that this program belongs to: backs up, stops the server, and starts the new release,
 * which migrates the database. If the new release does not become ready or does not keep running, the previous release is started again:
 * it can use the newer schema, since migrations only add. Squids keep running.
 * @throws Error if the new release does not work, after the previous one has been started again
 */
export async function upgrade({ hasBackup, isDry, maxStartMs, print }: UpgradeOptions): Promise<void> {
  const version = versionOf(ownRelease)
  const before = installedVersion()
  if (before === null) throw new Error('Shoal is not installed here. Run: bin/shoal install')
  if (before === version) return print(`Version ${version} is already installed.`)
  const file = join(layout.backups, `shoal-before-${version}-${Date.now()}.tar`)
  const isExternal = readSettings()['DATABASE_URL'] !== undefined
  if (hasBackup && isExternal)
    throw new Error(
      'Postgres is external (DATABASE_URL): back it up with its own tools, then upgrade with --no-backup.',
    )
  if (isDry) {
    for (const text of [
      `copy the release to ${join(layout.releases, version)}`,
      ...(hasBackup ? [`back up to ${file}`] : []),
      'stop the server; squids keep running',
      `let ${layout.current} point to ${version} instead of ${before}`,
      `start the server, and return to ${before} if it is not ready within ${maxStartMs / 1000} s`,
    ])
      print(`  would  ${text}`)
    return
  }
  const release = releaseStep(ownRelease, join(layout.releases, version))
  if (!release.isDone()) await release.run()
  if (hasBackup) {
    print(`Backing up to ${file} …`)
    run(layout.command, ['backup', '--to', file])
  }
  print(`Stopping version ${before}; squids keep running …`)
  const problem = await swap(version, maxStartMs)
  if (problem === null) return print(`Version ${version} is ready.`)
  const log = logTail()
  print(`Version ${version} does not work. ${problem} Returning to ${before} …`)
  const problemBefore = await swap(before, maxStartMs)
  // Removed, so that a corrected release of the same version can be copied, unless Postgres runs from this folder.
  const failedRelease = join(layout.releases, version)
  if (processesFrom(failedRelease).length === 0) rmSync(failedRelease, { recursive: true, force: true })
  const state = problemBefore === null ? `Version ${before} runs again.` : `Version ${before}: ${problemBefore}`
  throw new Error(`Version ${version} was not installed. ${problem} ${state}\nThe end of its log:\n${log}`)
}

/** Stops the server, and starts this version. Returns null, or a sentence about why it does not work. */
async function swap(version: string, maxStartMs: number): Promise<string | null> {
  if (!existsSync(join(layout.releases, version))) return `${layout.releases}/${version} does not exist.`
  systemctl('stop', 'shoal.service')
  setCurrent(version)
  try {
    systemctl('start', 'shoal.service')
  } catch (error) {
    return (error as Error).message
  }
  return (await waitUntilReady(version, maxStartMs)) ?? (await watchServer(settleMs))
}
