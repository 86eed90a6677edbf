import { globSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from './command.ts'
import { withProgress } from './progress.ts'
import { root } from './root.ts'

const builtFile = join(root, 'console/dist/index.html')
const sources = ['console/{src,build,public}/**', 'console/*.*', 'contract/src/**', 'package-lock.json']

function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/** Builds the console if a source is newer than the last build. @throws with the end of the output if the build fails */
export async function ensureConsole(): Promise<void> {
  const builtAt = modifiedAt(builtFile)
  const files = globSync(sources, { cwd: root })
  if (files.every((file) => modifiedAt(join(root, file)) <= builtAt)) return
  const startedAt = new Date()
  await withProgress('Building the console', 'Built the console', async () => {
    const { code, output } = await runCommand('vite', ['build'], { cwd: join(root, 'console') })
    if (code !== 0) throw new Error(`The console could not be built:\n${output.slice(-3000)}`)
  })
  // Records the start of the build, so that files edited during the build count as newer.
  utimesSync(builtFile, startedAt, startedAt)
}
