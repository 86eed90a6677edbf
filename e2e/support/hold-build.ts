import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** For a simulated build that the page must show: returns a file that makes the build wait while it exists, and a function that ends the build. The end of the test also ends it. */
export function holdBuild(): { whileExists: string; end: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-held-build-'))
  const end = () => rmSync(folder, { recursive: true, force: true })
  onTestFinished(end)
  return { whileExists: folder, end }
}
