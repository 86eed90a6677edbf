import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { PLAIN_ENV } from '../sandbox.ts'

/** Returns the path of a system program; null when it is not installed. */
export function findProgram(name: string): string | null {
  const isProgram = (file: string) => {
    try {
      accessSync(file, constants.X_OK)
      return true
    } catch {
      return false
    }
  }
  const files = PLAIN_ENV.PATH.split(':').map((dir) => join(dir, name))
  return files.find(isProgram) ?? null
}
