import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '../../error-code.ts'
import { waitForFileLock } from '../../file-lock.ts'
import { prepareHostDir } from '../../traversable-dir.ts'
import { replaceFile } from '../replace-file.ts'
import { MAX_INSTALLATIONS } from './rules.ts'

const LOCK_MS = 20_000

/**
 * Returns the number of an installation, starting at 0: unique on the host, and permanent as long as its state directory exists.
 * Calls `onRemoved` for installations whose directory was deleted, before their number is reused.
 * @throws Error when the file cannot be read or written, or all numbers are in use
 */
export async function installationNumber(
  stateDir: string,
  onRemoved: (stateDir: string, number: number) => Promise<void>,
): Promise<number> {
  const hostDir = prepareHostDir()
  const file = join(hostDir, 'installations.json')
  const lock = await waitForFileLock(join(hostDir, 'installations.lock'), 'exclusive', LOCK_MS)
  if (!lock) throw new Error(`${hostDir}/installations.lock is locked by another program`)
  try {
    const recorded = readNumbers(file)
    const numbers: Record<string, number> = {}
    for (const [dir, number] of Object.entries(recorded)) {
      if (existsSync(dir)) numbers[dir] = number
      else await onRemoved(dir, number)
    }
    const taken = new Set(Object.values(numbers))
    const number =
      numbers[stateDir] ?? Array.from({ length: MAX_INSTALLATIONS }, (_, n) => n).find((n) => !taken.has(n))
    if (number === undefined)
      throw new Error(`${file} lists ${MAX_INSTALLATIONS} installations, the maximum of one host`)
    replaceFile(file, JSON.stringify({ ...numbers, [stateDir]: number }, null, 1))
    return number
  } finally {
    lock.release()
  }
}

function readNumbers(file: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return {}
    throw new Error(`${file} is damaged: remove it while no squid of this host runs`, { cause: error })
  }
}
