import { join } from 'node:path'
import { root } from './root.ts'

/**
 * What Node is given to run the server. Its young generation is kept small: it would grow to three times 32 MB while the
 * sources are loaded and stay that large, a third of the memory of an idle server.
 */
export const serverArguments = ['--max-semi-space-size=8', join(root, 'server/src/main.ts')]

/** From here on this process is the server: signals and the exit code are its own. */
export function becomeServer(): never {
  if (!process.execve) throw new Error('This Node cannot replace a process')
  return process.execve(process.execPath, [process.execPath, ...serverArguments, ...process.argv.slice(2)])
}
