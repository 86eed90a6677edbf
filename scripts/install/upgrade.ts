import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { installedVersion, layout, ownRelease, readSettings, setCurrent, versionOf } from './layout.ts'
import { logTail, processesFrom, run, systemctl, waitUntilReady, watchServer } from './service.ts'
import { releaseStep } from './steps.ts'

export type UpgradeOptions = {
  hasBackup: boolean
  isDry: boolean
  /** The time for the new release to become ready. */
  maxStartMs: number
  print: (line: string) => void
}

/** A release that ends this soon after it was ready does not work. */
const settleMs = 20_000

/**
 * Replaces the installed release with the one that this program belongs to: backs up, stops the server, makes the link name the new
 * release, starts it, which migrates the database, and waits until it is ready and stays so. If not, the release before runs again: it can use
 * the newer schema, since migrations only add. Squids keep running.
 * @throws Error if the new release did not become ready, after the old one runs again
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
      `make ${layout.current} name ${version} instead of ${before}`,
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
  // So that a corrected release of the same version is copied again. Postgres may run from it, if it was restarted in the meantime.
  const failedRelease = join(layout.releases, version)
  if (processesFrom(failedRelease).length === 0) rmSync(failedRelease, { recursive: true, force: true })
  const state = problemBefore === null ? `Version ${before} runs again.` : `Version ${before}: ${problemBefore}`
  throw new Error(`Version ${version} was not installed. ${problem} ${state}\nThe end of its log:\n${log}`)
}

/** Stops the server, makes the link name this version, and starts it. Returns why it is not ready, or null. */
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
