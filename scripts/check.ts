import { endCommandsOnSignal } from './command.ts'
import { runChecks } from './checks.ts'

endCommandsOnSignal()
const { failed } = await runChecks()
process.exitCode = failed > 0 ? 1 : 0
