import { renameSync, rmSync, writeFileSync } from 'node:fs'

/** The suffix of incomplete files. */
export const TEMPORARY_SUFFIX = '.new'

/** Replaces a file atomically. Only the user of the server may read it. */
export function replaceFile(file: string, content: string | Buffer): void {
  const temporary = `${file}${TEMPORARY_SUFFIX}`
  try {
    writeFileSync(temporary, content, { mode: 0o600 })
    renameSync(temporary, file)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}
