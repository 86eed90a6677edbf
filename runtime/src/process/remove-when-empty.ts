import { rmdirSync } from 'node:fs'

/** Removes a folder if it is empty. Ignores missing ones. */
export function removeWhenEmpty(dir: string): void {
  try {
    rmdirSync(dir)
  } catch {
    // Not empty, or already removed.
  }
}
