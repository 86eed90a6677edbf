import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { operateDoc } from '../server/src/config/operate-doc.ts'
import { runChecks } from './checks.ts'
import { endCommandsOnSignal, runCommand } from './command.ts'
import { root } from './root.ts'

/** `npm run check -- --write`: formats the sources and regenerates the generated page. */
async function write(): Promise<void> {
  writeFileSync(join(root, 'docs/operate.md'), operateDoc())
  await runCommand('prettier', ['--write', '--log-level', 'warn', '.'])
}

endCommandsOnSignal()
if (process.argv.includes('--write')) await write()
const { failed } = await runChecks()
process.exitCode = failed > 0 ? 1 : 0
