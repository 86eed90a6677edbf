import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

/** Returns the version of this Shoal, as in `0.2.0`. */
export function shoalVersion(): string {
  const text = readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version
}
