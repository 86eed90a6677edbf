import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { shortHash } from './short-hash.ts'

/**
 * Copies a file that containers use to a location that they can read. The name contains a hash of the content, so that an upgrade
 * does not change the file of running containers.
 */
export function installFile(stateDir: string, name: string): string {
  const text = readFileSync(new URL(name, import.meta.url), 'utf8')
  const file = join(stateDir, `${shortHash(text)}-${name}`)
  writeFileSync(`${file}.new`, text)
  chmodSync(`${file}.new`, 0o644)
  renameSync(`${file}.new`, file)
  return file
}
