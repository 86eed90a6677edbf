import { renameSync, writeFileSync } from 'node:fs'

/** Replaces a file atomically. Only the user of the server may read it. */
export function replaceFile(file: string, content: string | Buffer): void {
  writeFileSync(`${file}.new`, content, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}
