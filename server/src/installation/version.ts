import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

/** Returns the version of Shoal, such as `0.2.0`. */
export function shoalVersion(): string {
  const text = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version
}

/** Folders of installed releases and of the image, whose command is in the PATH. */
const installFolders = /^\/(opt\/shoal|app)(\/|$)/

/**
 * Returns how operators start Shoal's commands: `shoal` where it is installed, the path of `bin/shoal` in an unpacked release, and
 * `npm run -s shoal --` in a clone.
 */
export function shoalCommand(folder = join(import.meta.dirname, '../../..')): string {
  const program = join(folder, 'bin/shoal')
  if (!existsSync(program)) return 'npm run -s shoal --'
  return installFolders.test(folder) ? 'shoal' : program
}
