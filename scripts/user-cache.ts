import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Returns the path of a folder in the user's cache, which outlives test runs. */
export const userCache = (name: string): string =>
  join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), name)

/**
 * Creates `folder` completely or not at all: `fill` writes into an empty folder next to it, which gets the name `folder` if `fill` returns
 * true. If two processes do this at the same time, the folder of the first one to finish remains.
 */
export async function fillOnce(folder: string, fill: (unfinished: string) => Promise<boolean>): Promise<void> {
  const unfinished = `${folder}.${process.pid}`
  mkdirSync(unfinished, { recursive: true })
  try {
    if (await fill(unfinished)) renameSync(unfinished, folder)
  } catch (error) {
    // A rename replaces a folder only if that is empty.
    const isOther = ['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')
    if (!isOther || !existsSync(folder)) throw error
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}
