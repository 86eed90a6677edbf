import { rmdirSync } from 'node:fs'

/** Removes a folder with nothing in it; leaves any other, and one that is gone already. */
export function removeWhenEmpty(dir: string): void {
  try {
    rmdirSync(dir)
  } catch {
    // Something of others is in it, or they removed it.
  }
}
