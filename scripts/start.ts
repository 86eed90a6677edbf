import { join } from 'node:path'
import { endCommandsOnSignal } from './command.ts'
import { ensureConsole } from './console-build.ts'
import { root } from './root.ts'

endCommandsOnSignal()
try {
  await ensureConsole()
} catch (error) {
  console.error((error as Error).message)
  process.exit(1)
}
// From here on this process is the server: signals and the exit code are its own.
process.execve?.(process.execPath, [process.execPath, join(root, 'server/src/main.ts'), ...process.argv.slice(2)])
