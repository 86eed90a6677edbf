import { endCommandsOnSignal } from './command.ts'
import { ensureConsole } from './console-build.ts'
import { becomeServer } from './server.ts'

endCommandsOnSignal()
try {
  await ensureConsole()
} catch (error) {
  console.error((error as Error).message)
  process.exit(1)
}
becomeServer()
